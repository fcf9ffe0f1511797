import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import org.apache.rocketmq.filter.SqlFilter;
import org.apache.rocketmq.filter.expression.EvaluationContext;
import org.apache.rocketmq.filter.expression.Expression;

/**
 * Reads lines of an expression, property names and values, separated by tabs; prints per line what RocketMQ's own
 * filter makes of it: true, false, unknown, error, or mistake when the expression does not compile.
 */
public final class EvaluateExpressions {
    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, "UTF-8");
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split("\t", -1);
            Map<String, String> properties = new HashMap<>();
            for (int i = 1; i + 1 < words.length; i += 2) {
                properties.put(words[i], words[i + 1]);
            }
            out.println(outcome(words[0], properties));
        }
        out.flush();
    }

    private static String outcome(String text, Map<String, String> properties) {
        Expression expression;
        try {
            expression = new SqlFilter().compile(text);
        } catch (Throwable problem) {
            return "mistake";
        }
        try {
            Object value = expression.evaluate(new EvaluationContext() {
                @Override
                public Object get(String name) {
                    return properties.get(name);
                }

                @Override
                public Map<String, Object> keyValues() {
                    return new HashMap<>(properties);
                }
            });
            return value == null ? "unknown" : value.toString();
        } catch (Throwable problem) {
            return "error";
        }
    }
}
