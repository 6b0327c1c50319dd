package harness;

/** Sealed types, patterns of instanceof, switch expressions, text blocks. */
public final class Sealed {
    sealed interface Tree permits Leaf, Branch {}

    static final class Leaf implements Tree {
        final int value;

        Leaf(int value) {
            this.value = value;
        }
    }

    static final class Branch implements Tree {
        final Tree left;
        final Tree right;

        Branch(Tree left, Tree right) {
            this.left = left;
            this.right = right;
        }
    }

    static Tree build(int depth) {
        return depth == 0 ? new Leaf(1) : new Branch(build(depth - 1), build(depth - 1));
    }

    static int sum(Tree tree) {
        if (tree instanceof Leaf leaf) {
            return leaf.value;
        }
        if (!(tree instanceof Branch branch)) {
            throw new AssertionError();
        }
        return sum(branch.left) + sum(branch.right);
    }

    static String day(int n) {
        return switch (n % 7) {
            case 0, 6 -> "weekend";
            case 3 -> {
                String middle = "mid";
                yield middle + "week";
            }
            default -> {
                if (n > 30) {
                    throw new IllegalArgumentException("no such day");
                }
                yield "weekday";
            }
        };
    }

    static int lines() {
        return """
            a
              b
            "c"
            """.split("\n").length;
    }

    public static void main(String[] args) {
        int depth = 8;
        int length = 0;
        for (int i = 0; i < 40; i++) {
            try {
                length += day(i).length();
            } catch (IllegalArgumentException e) {
                length++;
            }
        }
        System.out.println("sum " + sum(build(depth)) + " length " + length + " lines " + lines());

        int leaves = 1 << depth;
        Expect.Of main = Expect.program("harness.Sealed");
        main.count("build(I)Lharness/Sealed$Tree;", 2 * leaves - 1);
        main.count("sum(Lharness/Sealed$Tree;)I", 2 * leaves - 1);
        main.count("day(I)Ljava/lang/String;", 40).count("lines()I", 1);
        main.nested("Leaf").count("<init>(I)V", leaves);
        main.nested("Branch").count("<init>(Lharness/Sealed$Tree;Lharness/Sealed$Tree;)V", leaves - 1);
        Expect.print();
    }
}
