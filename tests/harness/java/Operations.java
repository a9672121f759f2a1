import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.HashMap;
import java.util.Map;

/** The requests that the agent understands, by name. */
final class Operations implements AutoCloseable {
    private final RecordsOfAPartition records;
    private final Administration administration;
    private final TransactionAdministration transactionAdministration;
    private final OpenTransactions transactions;
    private final String bootstrap;
    private final Map<String, GroupMember> members = new HashMap<>();

    Operations(String bootstrap) {
        this.bootstrap = bootstrap;
        records = new RecordsOfAPartition(bootstrap);
        administration = new Administration(bootstrap);
        transactionAdministration = new TransactionAdministration(administration.client());
        transactions = new OpenTransactions(bootstrap);
    }

    JsonNode call(String operation, JsonNode args) throws Exception {
        if (operation.startsWith("transactions_")) {
            return transactions.call(operation, args);
        }
        switch (operation) {
            case "produce": return records.produce(args);
            case "read": return records.read(args);
            case "consume": return records.consume(args);
            case "offset_at": return records.offsetAt(args);
            case "member_start": return startMember(args);
            case "member_look": return members.get(args.get("member").asText()).look();
            case "member_close": return closeMember(args);
            case "tool": return Tool.run(args);
            case "list_transactions": return transactionAdministration.list(args);
            case "describe_transaction": return transactionAdministration.describe(args);
            case "describe_producers": return transactionAdministration.producers(args);
            case "abort_transaction": return transactionAdministration.abort(args);
            case "fence_producer": return transactionAdministration.fence(args);
            case "force_terminate": return transactionAdministration.forceTerminate(args);
            default: return administration.call(operation, args);
        }
    }

    private JsonNode startMember(JsonNode args) {
        String name = "member-" + members.size();
        members.put(name, new GroupMember(bootstrap, args));
        return Agent.JSON.getNodeFactory().textNode(name);
    }

    private JsonNode closeMember(JsonNode args) throws InterruptedException {
        members.get(args.get("member").asText()).close();
        return Agent.JSON.nullNode();
    }

    @Override
    public void close() {
        transactions.close();
        administration.close();
    }
}
