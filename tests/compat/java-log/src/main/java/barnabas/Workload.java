package barnabas;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.LongDeserializer;
import org.apache.kafka.common.serialization.LongSerializer;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Kafka's own producer and consumer at work on one topic while others do things to its cluster.
 *
 * bootstrap topic
 *
 * The producer writes the numbers from 0, in turns to all partitions, waits for no answer before the
 * next, and remembers where each was acknowledged by all replicas in sync.  A consumer in a group
 * reads along.  "working" is printed as soon as both have got somewhere.  When standard input ends,
 * no more is written; what was acknowledged is waited for, read, and judged in one line of JSON:
 *
 * acknowledged   how many numbers
 * failed         what the producer or the consumer gave up, in their words
 * lost           acknowledged, and not found where it was said to be
 * disordered     behind a larger number in its partition
 * repeated       there twice
 * silenceMs      the longest time without an acknowledgement
 */
public final class Workload {
    private static final long BETWEEN_MS = 2;
    private static final long DELIVERY_MS = 90_000;
    private static final long DRAIN_MS = 60_000;

    private final String bootstrap;
    private final String topic;
    private final Map<Integer, TreeMap<Long, Long>> written = new HashMap<>();
    private final Map<Integer, TreeMap<Long, Long>> read = new HashMap<>();
    private final List<String> failed = new ArrayList<>();
    private long acknowledgedAt = System.nanoTime();
    private long silence;
    private int acknowledged;
    private volatile boolean stopping;
    private volatile boolean flushed;

    private Workload(String bootstrap, String topic) {
        this.bootstrap = bootstrap;
        this.topic = topic;
    }

    public static void main(String[] words) throws Exception {
        Workload workload = new Workload(words[0], words[1]);
        Thread writer = new Thread(() -> workload.attempt(workload::write), "writer");
        Thread reader = new Thread(() -> workload.attempt(workload::read), "reader");
        writer.start();
        reader.start();
        while (!workload.works()) {
            Thread.sleep(50);
        }
        System.out.println("working");
        while (System.in.read() >= 0) {
            // Whatever is said is no reason to stop.
        }
        workload.stopping = true;
        writer.join();
        workload.flushed = true;
        reader.join();
        System.out.println(workload.verdict());
    }

    private interface Work {
        void run() throws Exception;
    }

    private void attempt(Work work) {
        try {
            work.run();
        } catch (Exception error) {
            failed(error);
        }
    }

    private synchronized void failed(Exception error) {
        failed.add(Thread.currentThread().getName() + ": " + error);
    }

    private synchronized boolean works() {
        return !failed.isEmpty() || acknowledged > 0 && !read.isEmpty();
    }

    private void write() throws Exception {
        Map<String, Object> settings = Map.of(
            "bootstrap.servers", bootstrap, "delivery.timeout.ms", (int) DELIVERY_MS,
            "request.timeout.ms", 5_000, "max.block.ms", DELIVERY_MS);
        try (KafkaProducer<Long, Long> producer =
                 new KafkaProducer<>(settings, new LongSerializer(), new LongSerializer())) {
            int partitions = producer.partitionsFor(topic).size();
            for (long number = 0; !stopping; number++) {
                long sent = number;
                int partition = (int) (number % partitions);
                producer.send(new ProducerRecord<>(topic, partition, null, number), (where, error) -> {
                    if (error != null) {
                        failed(error);
                    } else {
                        acknowledged(partition, where.offset(), sent);
                    }
                });
                Thread.sleep(BETWEEN_MS);
            }
        }
    }

    private synchronized void acknowledged(int partition, long offset, long number) {
        long now = System.nanoTime();
        silence = Math.max(silence, now - acknowledgedAt);
        acknowledgedAt = now;
        acknowledged++;
        written.computeIfAbsent(partition, any -> new TreeMap<>()).put(offset, number);
    }

    private void read() {
        Map<String, Object> settings = Map.of(
            "bootstrap.servers", bootstrap, "group.id", "readers of " + topic,
            "auto.offset.reset", "earliest", "request.timeout.ms", 5_000);
        try (KafkaConsumer<Long, Long> consumer =
                 new KafkaConsumer<>(settings, new LongDeserializer(), new LongDeserializer())) {
            consumer.subscribe(List.of(topic));
            long until = Long.MAX_VALUE;
            while (!drained() && System.currentTimeMillis() < until) {
                for (ConsumerRecord<Long, Long> record : consumer.poll(Duration.ofMillis(200))) {
                    found(record.partition(), record.offset(), record.value());
                }
                if (flushed && until == Long.MAX_VALUE) {
                    until = System.currentTimeMillis() + DRAIN_MS;
                }
            }
        }
    }

    private synchronized void found(int partition, long offset, long number) {
        Long before = read.computeIfAbsent(partition, any -> new TreeMap<>()).put(offset, number);
        if (before != null && before != number) {
            failed.add("reader: offset " + offset + " of " + partition + " was " + before + ", is " + number);
        }
    }

    private synchronized boolean drained() {
        return flushed && written.entrySet().stream().allMatch(
            each -> read.containsKey(each.getKey())
                && read.get(each.getKey()).lastKey() >= each.getValue().lastKey());
    }

    private synchronized ObjectNode verdict() {
        int lost = 0;
        for (Map.Entry<Integer, TreeMap<Long, Long>> each : written.entrySet()) {
            Map<Long, Long> there = read.getOrDefault(each.getKey(), new TreeMap<>());
            for (Map.Entry<Long, Long> acknowledgement : each.getValue().entrySet()) {
                if (!acknowledgement.getValue().equals(there.get(acknowledgement.getKey()))) {
                    lost++;
                }
            }
        }
        int disordered = 0;
        int repeated = 0;
        for (TreeMap<Long, Long> log : read.values()) {
            long largest = -1;
            for (long number : log.values()) {
                disordered += number < largest ? 1 : 0;
                repeated += number == largest ? 1 : 0;
                largest = Math.max(largest, number);
            }
        }
        ObjectNode verdict = new ObjectMapper().createObjectNode();
        verdict.put("acknowledged", acknowledged);
        failed.stream().distinct().forEach(verdict.withArray("failed")::add);
        verdict.put("lost", lost);
        verdict.put("disordered", disordered);
        verdict.put("repeated", repeated);
        verdict.put("silenceMs", silence / 1_000_000);
        return verdict;
    }
}
