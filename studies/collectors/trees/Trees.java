public class Trees {
    record Node(Node left, Node right) {}
    static Node grow(int depth) { return depth == 0 ? new Node(null, null) : new Node(grow(depth - 1), grow(depth - 1)); }
    static int count(Node node) { return node.left() == null ? 1 : 1 + count(node.left()) + count(node.right()); }
    public static void main(String[] arguments) {
        Node kept = grow(18);
        int total = 0;
        for (int round = 0; round < 3000; round++) total += count(grow(14));
        if (total + count(kept) == 0) throw new AssertionError();
    }
}
