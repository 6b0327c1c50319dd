import java.nio.file.Path;
import java.nio.file.Paths;
import org.apache.lucene.analysis.standard.StandardAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.IntPoint;
import org.apache.lucene.document.StoredField;
import org.apache.lucene.document.TextField;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.queryparser.classic.QueryParser;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.store.FSDirectory;

/**
 * Indexes some generated texts in a folder and searches them. Arguments: folder, number of texts.
 */
public final class LuceneDriver {
    private static final String[] WORDS = (
            "the quick brown fox jumps over a lazy dog while seven wizards quietly mix strong "
                    + "potions behind old stone walls and nobody hears their careful whispers").split(" ");

    public static void main(String[] args) throws Exception {
        Path folder = Paths.get(args[0]);
        int texts = Integer.parseInt(args[1]);
        try (FSDirectory directory = FSDirectory.open(folder);
                StandardAnalyzer analyzer = new StandardAnalyzer()) {
            try (IndexWriter writer = new IndexWriter(directory, new IndexWriterConfig(analyzer))) {
                long state = 1;
                for (int id = 0; id < texts; id++) {
                    StringBuilder text = new StringBuilder();
                    for (int i = 0; i < 30; i++) {
                        state = state * 6364136223846793005L + 1442695040888963407L;
                        text.append(WORDS[(int) (state >>> 33) % WORDS.length]).append(' ');
                    }
                    Document document = new Document();
                    document.add(new TextField("body", text.toString(), Field.Store.YES));
                    document.add(new IntPoint("number", id));
                    document.add(new StoredField("number", id));
                    writer.addDocument(document);
                    if (id % 100 == 99) {
                        writer.commit();
                    }
                }
                writer.forceMerge(1);
            }
            try (DirectoryReader reader = DirectoryReader.open(directory)) {
                IndexSearcher searcher = new IndexSearcher(reader);
                QueryParser parser = new QueryParser("body", analyzer);
                for (String query : new String[] {
                    "fox AND dog", "wizards -stone", "\"lazy dog\"", "po*", "whispers~1", "nothing"
                }) {
                    System.out.print(query + ":");
                    for (ScoreDoc hit : searcher.search(parser.parse(query), 5).scoreDocs) {
                        System.out.printf(" %d/%.4f", hit.doc, hit.score);
                    }
                    System.out.println();
                }
            }
        }
    }
}
