import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.apache.avro.Schema;
import org.apache.avro.SchemaCompatibility;

/**
 * What Avro's own library says of pairs of schemas. Each line of the input is {"reader": TEXT, "writer": TEXT,
 * "references": [TEXT...]}, each line of the output the canonical texts and the findings, or null for what it refuses.
 */
class AvroRules {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            out.println(JSON.writeValueAsString(judge(JSON.readTree(line))));
        }
        out.flush();
    }

    private static ObjectNode judge(JsonNode question) {
        ObjectNode answer = JSON.createObjectNode();
        Schema reader = parse(question, "reader", answer);
        Schema writer = parse(question, "writer", answer);
        if (reader == null || writer == null) {
            return answer;
        }
        try {
            ArrayNode findings = JSON.createArrayNode();
            SchemaCompatibility.checkReaderWriterCompatibility(reader, writer).getResult().getIncompatibilities()
                .forEach(one -> findings.addArray()
                    .add(one.getType().name()).add(one.getLocation()).add(one.getMessage()));
            answer.set("findings", findings);
        } catch (RuntimeException error) {
            answer.put("gave up", String.valueOf(error.getMessage()));
        }
        return answer;
    }

    private static Schema parse(JsonNode question, String side, ObjectNode answer) {
        try {
            Schema.Parser parser = new Schema.Parser();
            parser.setValidateDefaults(false);
            List<Schema> references = new ArrayList<>();
            for (JsonNode reference : question.path("references")) {
                references.add(parser.parse(reference.textValue()));
            }
            Schema schema = parser.parse(question.get(side).textValue());
            answer.put(side, schema.toString(references, false));
            answer.put(side + " resolved", schema.toString());
            return schema;
        } catch (RuntimeException error) {
            answer.putNull(side);
            answer.put(side + " refused", String.valueOf(error));
            return null;
        }
    }
}
