import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;

/**
 * The Java client and Kafka's tools, driven over standard input and output: one JSON request per line, one JSON answer per
 * line. One process serves a whole test session, because a JVM costs a second to start and longer to become quick.
 */
public final class Agent {
    static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] args) throws Exception {
        PrintStream answers = System.out;
        // Whatever a library prints must not end up between the answers.
        System.setOut(System.err);
        Operations operations = new Operations(args[0]);
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        String line;
        while ((line = requests.readLine()) != null) {
            JsonNode request = JSON.readTree(line);
            ObjectNode answer = JSON.createObjectNode();
            try {
                answer.set("result", operations.call(request.get("op").asText(), request.get("args")));
            } catch (Throwable failure) {
                StringWriter trace = new StringWriter();
                failure.printStackTrace(new PrintWriter(trace));
                answer.put("error", trace.toString());
            }
            answers.println(JSON.writeValueAsString(answer));
            answers.flush();
        }
        operations.close();
    }
}
