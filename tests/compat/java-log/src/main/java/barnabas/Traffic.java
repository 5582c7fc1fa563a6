package barnabas;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;

/**
 * Kafka's own clients at work on a node: every codec, idempotence, transactions of both outcomes,
 * a compacted topic with tombstones, a group of each protocol that commits offsets.
 *
 * traffic bootstrap seed round        round 0 makes the topics
 */
final class Traffic {
    private static final List<String> CODECS = List.of("none", "gzip", "snappy", "lz4", "zstd");
    private static final int PARTITIONS = 2;
    private static final long WAIT_S = 30;

    private final String bootstrap;
    private final Random random;
    private int sent;

    private Traffic(String bootstrap, long seed) {
        this.bootstrap = bootstrap;
        this.random = new Random(seed);
    }

    static void run(JsonNode order, ObjectNode answer) throws Exception {
        Traffic traffic = new Traffic(order.get("bootstrap").asText(), order.get("seed").asLong());
        int round = order.get("round").asInt();
        if (round == 0) {
            traffic.makeTopics();
        }
        for (String codec : CODECS) {
            traffic.produce("plain", codec, 60);
            traffic.produce("compacted", codec, 60);
            traffic.transactions("transactional", codec, 6);
        }
        for (String protocol : List.of("classic", "consumer")) {
            answer.put(protocol, traffic.consume(protocol));
        }
        answer.put("sent", traffic.sent);
    }

    private void makeTopics() throws Exception {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
            // The smallest segments that Kafka 4 lets a topic have.
            Map<String, String> settings = Map.of("segment.bytes", "1048576", "index.interval.bytes", "256");
            Map<String, String> compacted = new HashMap<>(settings);
            compacted.put("cleanup.policy", "compact");
            admin.createTopics(List.of(
                new NewTopic("plain", PARTITIONS, (short) 1).configs(settings),
                new NewTopic("transactional", PARTITIONS, (short) 1).configs(settings),
                new NewTopic("compacted", PARTITIONS, (short) 1).configs(compacted)
            )).all().get(WAIT_S, TimeUnit.SECONDS);
        }
    }

    private KafkaProducer<String, String> producer(Map<String, Object> extra) {
        Map<String, Object> settings = new HashMap<>(extra);
        settings.put("bootstrap.servers", bootstrap);
        settings.put("batch.size", 2000);
        settings.put("linger.ms", 1);
        return new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
    }

    private ProducerRecord<String, String> record(String topic) {
        sent++;
        String value = random.nextInt(8) == 0 && topic.equals("compacted") ? null : "x".repeat(random.nextInt(300));
        ProducerRecord<String, String> made =
            new ProducerRecord<>(topic, random.nextInt(PARTITIONS), "key " + random.nextInt(20), value);
        if (random.nextInt(4) == 0) {
            made.headers().add("number", Integer.toString(sent).getBytes()).add("nothing", null);
        }
        return made;
    }

    private void produce(String topic, String codec, int count) {
        try (KafkaProducer<String, String> producer = producer(Map.of("compression.type", codec))) {
            for (int number = 0; number < count; number++) {
                producer.send(record(topic));
            }
        }
    }

    private void transactions(String topic, String codec, int count) {
        Map<String, Object> settings = Map.of("compression.type", codec, "transactional.id", "writer " + codec);
        try (KafkaProducer<String, String> producer = producer(settings)) {
            producer.initTransactions();
            for (int number = 0; number < count; number++) {
                producer.beginTransaction();
                for (int record = random.nextInt(8); record >= 0; record--) {
                    producer.send(record(topic));
                }
                if (random.nextInt(3) == 0) {
                    producer.flush();
                    producer.abortTransaction();
                } else {
                    producer.commitTransaction();
                }
            }
        }
    }

    private int consume(String protocol) {
        Map<String, Object> settings = Map.of("bootstrap.servers", bootstrap, "group.id", protocol,
            "group.protocol", protocol, "auto.offset.reset", "earliest", "enable.auto.commit", "false",
            "isolation.level", "read_committed");
        int count = 0;
        try (KafkaConsumer<String, String> consumer =
                 new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of("plain", "transactional"));
            long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(WAIT_S);
            for (int quiet = 0; quiet < 3 && System.nanoTime() < until; ) {
                ConsumerRecords<String, String> some = consumer.poll(Duration.ofMillis(300));
                quiet = some.isEmpty() && count > 0 ? quiet + 1 : 0;
                count += some.count();
            }
            Map<TopicPartition, OffsetAndMetadata> read = new HashMap<>();
            consumer.assignment().forEach(tp -> read.put(tp, new OffsetAndMetadata(consumer.position(tp), "read by " + protocol)));
            consumer.commitSync(read);
        }
        return count;
    }
}
