import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.common.utils.Exit;

/** Runs a tool's main method as if it were a process: with its own input, output and exit code. */
final class Tool {
    private static final class Ended extends RuntimeException {
        Ended() {
            super(null, null, false, false);
        }
    }

    private static final List<Runnable> SHUTDOWN_HOOKS = new ArrayList<>();
    private static Integer exitCode;

    static {
        // All of Kafka's tools end through this class. Some catch what it throws and end again: the first end counts.
        Exit.setExitProcedure((code, message) -> end(code));
        Exit.setHaltProcedure((code, message) -> end(code));
        Exit.setShutdownHookAdder((name, hook) -> SHUTDOWN_HOOKS.add(hook));
    }

    private static void end(int code) {
        if (exitCode == null) {
            exitCode = code;
        }
        throw new Ended();
    }

    static JsonNode run(JsonNode args) throws Exception {
        String[] arguments = Agent.JSON.convertValue(args.get("args"), String[].class);
        InputStream input = System.in;
        PrintStream output = System.out;
        PrintStream errors = System.err;
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        ByteArrayOutputStream complained = new ByteArrayOutputStream();
        exitCode = null;
        SHUTDOWN_HOOKS.clear();
        try {
            System.setIn(new ByteArrayInputStream(args.get("stdin").asText().getBytes(StandardCharsets.UTF_8)));
            System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
            System.setErr(new PrintStream(complained, true, StandardCharsets.UTF_8));
            Class.forName(args.get("main").asText()).getMethod("main", String[].class).invoke(null, (Object) arguments);
        } catch (InvocationTargetException failure) {
            if (!(failure.getCause() instanceof Ended)) {
                failure.getCause().printStackTrace(System.err);
                exitCode = 1;
            }
        } finally {
            SHUTDOWN_HOOKS.forEach(Runnable::run);
            System.setIn(input);
            System.setOut(output);
            System.setErr(errors);
        }
        ObjectNode answer = Agent.JSON.createObjectNode();
        answer.put("code", exitCode == null ? 0 : exitCode);
        answer.put("out", printed.toString(StandardCharsets.UTF_8));
        answer.put("err", complained.toString(StandardCharsets.UTF_8));
        return answer;
    }
}
