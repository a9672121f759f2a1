import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.GroupListing;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;

/** The admin client. */
final class Administration implements AutoCloseable {
    private static final JsonNode NOTHING = Agent.JSON.nullNode();
    private final Admin admin;

    Administration(String bootstrap) {
        admin = Admin.create(Map.of("bootstrap.servers", bootstrap));
    }

    Admin client() {
        return admin;
    }

    JsonNode call(String operation, JsonNode args) throws Exception {
        switch (operation) {
            case "create_topic": return createTopic(args);
            case "delete_topic":
                admin.deleteTopics(List.of(text(args, "topic"))).all().get();
                return NOTHING;
            case "topics": return topics();
            case "add_partitions":
                admin.createPartitions(
                    Map.of(text(args, "topic"), NewPartitions.increaseTo(args.get("total").asInt()))).all().get();
                return NOTHING;
            case "topic_config": return topicConfig(args);
            case "set_topic_config": return setTopicConfig(args);
            case "groups": return groups();
            case "describe_group": return describeGroup(args);
            case "delete_group":
                admin.deleteConsumerGroups(List.of(text(args, "group"))).all().get();
                return NOTHING;
            case "committed": return committed(args);
            case "delete_records":
                admin.deleteRecords(Map.of(
                    partition(args), RecordsToDelete.beforeOffset(args.get("before_offset").asLong()))).all().get();
                return NOTHING;
            default: throw new IllegalArgumentException("no such operation: " + operation);
        }
    }

    private JsonNode createTopic(JsonNode args) throws Exception {
        Map<String, String> configs = new HashMap<>();
        args.get("configs").properties().forEach(entry -> configs.put(entry.getKey(), entry.getValue().asText()));
        NewTopic topic =
            new NewTopic(text(args, "topic"), Optional.of(args.get("partitions").asInt()), Optional.of((short) 1));
        admin.createTopics(List.of(topic.configs(configs))).all().get();
        return NOTHING;
    }

    private JsonNode topics() throws Exception {
        ObjectNode counts = Agent.JSON.createObjectNode();
        // A topic that goes away between the two calls is not a failure of this one.
        admin.describeTopics(admin.listTopics().names().get()).topicNameValues().forEach((name, future) -> {
            try {
                TopicDescription topic = future.get();
                counts.put(name, topic.partitions().size());
            } catch (Exception gone) {
                counts.remove(name);
            }
        });
        return counts;
    }

    private JsonNode topicConfig(JsonNode args) throws Exception {
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, text(args, "topic"));
        String value = admin.describeConfigs(List.of(resource)).all().get().get(resource).get(text(args, "name")).value();
        return Agent.JSON.getNodeFactory().textNode(value);
    }

    private JsonNode setTopicConfig(JsonNode args) throws Exception {
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, text(args, "topic"));
        AlterConfigOp change =
            new AlterConfigOp(new ConfigEntry(text(args, "name"), text(args, "value")), AlterConfigOp.OpType.SET);
        admin.incrementalAlterConfigs(Map.of(resource, List.of(change))).all().get();
        return NOTHING;
    }

    private JsonNode groups() throws Exception {
        ArrayNode names = Agent.JSON.createArrayNode();
        for (GroupListing group : admin.listGroups().all().get()) {
            names.add(group.groupId());
        }
        return names;
    }

    private JsonNode describeGroup(JsonNode args) throws Exception {
        String group = text(args, "group");
        ConsumerGroupDescription description = admin.describeConsumerGroups(List.of(group)).all().get().get(group);
        return Agent.JSON.createArrayNode()
            .add(description.groupState().toString())
            .add(description.members().size());
    }

    private JsonNode committed(JsonNode args) throws Exception {
        String group = text(args, "group");
        OffsetAndMetadata found = admin.listConsumerGroupOffsets(group)
            .partitionsToOffsetAndMetadata(group).get().get(partition(args));
        return found == null ? NOTHING : Agent.JSON.getNodeFactory().numberNode(found.offset());
    }

    private static TopicPartition partition(JsonNode args) {
        return new TopicPartition(text(args, "topic"), args.get("partition").asInt());
    }

    private static String text(JsonNode args, String field) {
        return args.get(field).asText();
    }

    @Override
    public void close() {
        admin.close();
    }
}
