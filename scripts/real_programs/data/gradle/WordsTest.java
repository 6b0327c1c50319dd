import static org.junit.Assert.assertEquals;

import org.junit.Test;

public class WordsTest {
    @Test
    public void counts() {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < 2000; i++) {
            text.append(i % 7).append(' ');
        }
        assertEquals(7, Words.count(text.toString().trim()).size());
    }

    @Test
    public void failsOnPurpose() {
        assertEquals(1, Words.count("a b").size());
    }
}
