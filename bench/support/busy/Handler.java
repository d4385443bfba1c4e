/** Answers requests without end: text is parsed, sorted and summed up. */
class Handler {
    static volatile long answers;

    static String buildRequest(int number) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < 200; i++) text.append(number * 31 + i).append(',');
        return text.toString();
    }

    static int[] parseFields(String text) {
        String[] fields = text.split(",");
        int[] values = new int[fields.length];
        for (int i = 0; i < fields.length; i++) values[i] = Integer.parseInt(fields[i]);
        return values;
    }

    static long sumSorted(int[] values) {
        java.util.Arrays.sort(values);
        long sum = 0;
        for (int value : values) sum = sum * 7 + value;
        return sum;
    }

    public static void main(String[] arguments) {
        for (int number = 0; ; number++) answers += sumSorted(parseFields(buildRequest(number)));
    }
}
