package barnabas;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import kafka.tools.StorageTool;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.internals.Topic;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.metadata.bootstrap.BootstrapDirectory;
import org.apache.kafka.raft.ElectionState;
import org.apache.kafka.raft.FileQuorumStateStore;
import org.apache.kafka.raft.Isolation;
import org.apache.kafka.raft.MetadataLogConfig;
import org.apache.kafka.raft.ReplicaKey;
import org.apache.kafka.raft.internals.KafkaRaftLog;
import org.apache.kafka.server.common.KRaftVersion;
import org.apache.kafka.server.util.KafkaScheduler;
import org.apache.kafka.snapshot.RawSnapshotReader;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.record.internal.RecordBatch;

import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * What Apache Kafka makes of the directories of a node, told by one JSON object a line.
 *
 * tool words                                   StorageTool; its exit code and what it printed
 * election path                                what quorum-state says
 * elect path epoch leader voted directory version voters    write it
 * log directory                                the metadata log: bounds, epochs, snapshots, batches
 * bootstrap directory                          the records that a cluster begins with
 */
public final class Storage {
    private static final ObjectMapper JSON = new ObjectMapper();

    private Storage() {
    }

    public static void main(String[] args) throws Exception {
        PrintStream answers = System.out;
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = orders.readLine(); line != null; line = orders.readLine()) {
            ObjectNode answer = JSON.createObjectNode();
            try {
                perform(JSON.readTree(line), answer);
            } catch (Exception | AssertionError problem) {
                answer.put("error", problem.getClass().getSimpleName()).put("why", String.valueOf(problem.getMessage()));
            }
            answers.println(JSON.writeValueAsString(answer));
            answers.flush();
        }
    }

    private static void perform(JsonNode order, ObjectNode answer) throws Exception {
        switch (order.get("order").asText()) {
            case "tool" -> {
                String[] words = JSON.convertValue(order.get("words"), String[].class);
                ByteArrayOutputStream said = new ByteArrayOutputStream();
                PrintStream stream = new PrintStream(said, true, StandardCharsets.UTF_8);
                // Where it prints the stack of what a directory made it throw.
                System.setOut(stream);
                try {
                    answer.put("exit", StorageTool.execute(words, stream));
                } finally {
                    answer.put("said", said.toString(StandardCharsets.UTF_8));
                }
            }
            case "election" -> election(answer, store(order).readElectionState());
            case "elect" -> elect(order);
            case "log" -> log(order.get("directory").asText(), answer);
            case "bootstrap" -> {
                ArrayNode records = answer.putArray("records");
                new BootstrapDirectory(order.get("directory").asText()).read().records()
                    .forEach(record -> records.add(record.toString()));
            }
            default -> throw new IllegalArgumentException(order.toString());
        }
    }

    private static FileQuorumStateStore store(JsonNode order) {
        return new FileQuorumStateStore(new File(order.get("path").asText()));
    }

    private static void election(ObjectNode answer, Optional<ElectionState> found) {
        answer.put("found", found.isPresent());
        found.ifPresent(election -> {
            answer.put("epoch", election.epoch());
            answer.put("leader", election.optionalLeaderId().orElse(-1));
            answer.put("voted", election.optionalVotedKey().map(ReplicaKey::id).orElse(-1));
            answer.put("directory", election.optionalVotedKey().flatMap(ReplicaKey::directoryId)
                .orElse(Uuid.ZERO_UUID).toString());
        });
    }

    private static void elect(JsonNode order) {
        int epoch = order.get("epoch").asInt();
        int leader = order.get("leader").asInt();
        int voted = order.get("voted").asInt();
        Optional<ReplicaKey> key = voted < 0 ? Optional.empty()
            : Optional.of(ReplicaKey.of(voted, Uuid.fromString(order.get("directory").asText())));
        Set<Integer> voters = Set.of(JSON.convertValue(order.get("voters"), Integer[].class));
        ElectionState election = leader >= 0 ? ElectionState.withElectedLeader(epoch, leader, key, voters)
            : key.isPresent() ? ElectionState.withVotedCandidate(epoch, key.get(), voters)
            : ElectionState.withUnknownLeader(epoch, voters);
        store(order).writeElectionState(election, KRaftVersion.fromFeatureLevel((short) order.get("version").asInt()));
    }

    private static void log(String directory, ObjectNode answer) throws Exception {
        KafkaScheduler scheduler = new KafkaScheduler(1);
        scheduler.startup();
        KafkaRaftLog log = KafkaRaftLog.createLog(
            Topic.CLUSTER_METADATA_TOPIC_PARTITION, Uuid.METADATA_TOPIC_ID, new File(directory), Time.SYSTEM, scheduler,
            new MetadataLogConfig(new AbstractConfig(MetadataLogConfig.CONFIG_DEF, Map.of(), false)), 1);
        try {
            answer.put("start", log.startOffset());
            answer.put("end", log.endOffset().offset());
            answer.put("epoch", log.lastFetchedEpoch());
            answer.put("latest", log.latestSnapshotId().map(Object::toString).orElse(""));
            answer.put("earliest", log.earliestSnapshotId().map(Object::toString).orElse(""));
            answer.put("snapshotBytes", log.latestSnapshot().map(RawSnapshotReader::sizeInBytes).orElse(-1L));
            ArrayNode batches = answer.putArray("batches");
            for (long at = log.startOffset(); at < log.endOffset().offset(); ) {
                for (RecordBatch batch : log.read(at, Isolation.UNCOMMITTED, 1 << 20).records.batches()) {
                    batch.ensureValid();
                    batches.add(batch.baseOffset() + " " + batch.lastOffset() + " " + batch.partitionLeaderEpoch()
                        + " " + batch.isControlBatch() + " " + batch.checksum());
                    at = batch.nextOffset();
                }
            }
        } finally {
            log.close();
            scheduler.shutdown();
        }
    }
}
