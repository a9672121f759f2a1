import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import org.apache.kafka.common.utils.Exit;

/** Runs a tool's main method as if it were a process: with its own input, output and exit code. */
final class Tool {
    private static final class Ended extends RuntimeException {
        final int code;

        Ended(int code) {
            super(null, null, false, false);
            this.code = code;
        }
    }

    static {
        // All of Kafka's tools end through this class.
        Exit.setExitProcedure((code, message) -> {
            throw new Ended(code);
        });
        Exit.setHaltProcedure((code, message) -> {
            throw new Ended(code);
        });
        Exit.setShutdownHookAdder((name, runnable) -> { });
    }

    static JsonNode run(JsonNode args) throws Exception {
        String[] arguments = Agent.JSON.convertValue(args.get("args"), String[].class);
        InputStream input = System.in;
        PrintStream output = System.out;
        PrintStream errors = System.err;
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        ByteArrayOutputStream complained = new ByteArrayOutputStream();
        int code = 0;
        try {
            System.setIn(new ByteArrayInputStream(args.get("stdin").asText().getBytes(StandardCharsets.UTF_8)));
            System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
            System.setErr(new PrintStream(complained, true, StandardCharsets.UTF_8));
            Class.forName(args.get("main").asText()).getMethod("main", String[].class).invoke(null, (Object) arguments);
        } catch (InvocationTargetException failure) {
            if (failure.getCause() instanceof Ended) {
                code = ((Ended) failure.getCause()).code;
            } else {
                failure.getCause().printStackTrace(System.err);
                code = 1;
            }
        } finally {
            System.setIn(input);
            System.setOut(output);
            System.setErr(errors);
        }
        ObjectNode answer = Agent.JSON.createObjectNode();
        answer.put("code", code);
        answer.put("out", printed.toString(StandardCharsets.UTF_8));
        answer.put("err", complained.toString(StandardCharsets.UTF_8));
        return answer;
    }
}
