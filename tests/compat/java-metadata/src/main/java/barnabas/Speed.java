package barnabas;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.Records;
import org.apache.kafka.common.record.internal.UnalignedMemoryRecords;
import org.apache.kafka.common.record.internal.UnalignedRecords;
import org.apache.kafka.common.utils.BufferSupplier;
import org.apache.kafka.common.utils.ByteBufferOutputStream;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;
import org.apache.kafka.image.TopicImage;
import org.apache.kafka.image.loader.MetadataBatchLoader;
import org.apache.kafka.image.writer.ImageWriterOptions;
import org.apache.kafka.image.writer.RaftSnapshotWriter;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.metadata.SupportedConfigChecker;
import org.apache.kafka.raft.Batch;
import org.apache.kafka.raft.LeaderAndEpoch;
import org.apache.kafka.raft.internals.BatchMemoryPool;
import org.apache.kafka.raft.internals.RecordsIterator;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.OffsetAndEpoch;
import org.apache.kafka.snapshot.RawSnapshotReader;
import org.apache.kafka.snapshot.RawSnapshotWriter;
import org.apache.kafka.snapshot.RecordsSnapshotReader;
import org.apache.kafka.snapshot.RecordsSnapshotWriter;

/**
 * How fast Kafka's own metadata image is, for benchmarks/kafka_image.py. Each line orders one
 * measurement, and is answered by a line of figures.
 *
 * <pre>
 * log FILE                take a segment of a log into memory    its size in bytes
 * keep                    fold it, and keep the image            bytes that the heap has grown by
 * replay                  fold it, and forget the image          seconds
 * changes VALUE,VALUE…    commit each record, and publish it     nanoseconds of each
 * find id|name            look up 10,000 partitions              nanoseconds of each, on average
 * find-while-changing VALUE,VALUE…      by id, while another thread publishes these over and over
 * write                   a snapshot, into memory                seconds
 * read                    that snapshot                          seconds
 * </pre>
 */
public final class Speed {
    /** How many batches are committed together, as in the bench that asks. */
    private static final int COMMITTED_TOGETHER = 10;
    private static final int LOOKUPS = 10_000;
    private static final int LOOKED_UP = 42;
    /** What KafkaRaftClient and SnapshotEmitter use. */
    private static final int BATCH_BYTES = 8 * 1024 * 1024;
    private static final int BATCH_RECORDS = 1024;

    private static final MetadataRecordSerde SERDE = new MetadataRecordSerde();

    private ByteBuffer log;
    private MetadataBatchLoader loader;
    private MetadataImage published = MetadataImage.EMPTY;
    private volatile MetadataImage image = MetadataImage.EMPTY;
    private Uuid[] ids;
    private String[] names;
    private InMemory snapshot;
    /** Of what was looked up something is kept, so that nobody can leave out the looking. */
    private long seen;

    public static void main(String[] arguments) throws Exception {
        var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        var speed = new Speed();
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            System.out.println(speed.measured(line.split(" ")));
        }
    }

    private String measured(String[] words) throws Exception {
        return switch (words[0]) {
            case "log" -> "" + taken(Path.of(words[1]));
            case "keep" -> "" + kept();
            case "replay" -> {
                long started = System.nanoTime();
                MetadataImage replayed = replayed(newLoader(false));
                double seconds = since(started) / 1e9;
                published = MetadataImage.EMPTY;
                if (replayed.topics().topicsById().isEmpty()) throw new AssertionError("no topics");
                yield "" + seconds;
            }
            case "changes" -> {
                var figures = new StringBuilder();
                for (byte[] value : values(words[1])) figures.append(changed(value)).append(' ');
                yield figures.toString().strip();
            }
            case "find" -> "" + found(words[1].equals("name"));
            case "find-while-changing" -> "" + foundWhileChanging(values(words[1]));
            case "write" -> "" + written() / 1e9;
            case "read" -> "" + read() / 1e9;
            default -> throw new IllegalArgumentException(words[0]);
        };
    }

    private static long since(long started) {
        return System.nanoTime() - started;
    }

    private static List<byte[]> values(String hexadecimal) {
        List<byte[]> values = new ArrayList<>();
        for (String value : hexadecimal.split(",")) values.add(HexFormat.of().parseHex(value));
        return values;
    }

    // --- Replaying -------------------------------------------------------------------------------

    private int taken(Path file) throws IOException {
        log = ByteBuffer.wrap(Files.readAllBytes(file));
        return log.remaining();
    }

    /** Fold the log as a node does that starts: from its bytes, some batches to a publication. */
    private MetadataImage replayed(MetadataBatchLoader folding) {
        int count = 0;
        try (var batches = new RecordsIterator<>(
                MemoryRecords.readableRecords(log.duplicate()), SERDE, BufferSupplier.create(),
                BATCH_BYTES, true, new LogContext())) {
            while (batches.hasNext()) {
                folding.loadBatch(batches.next(), LeaderAndEpoch.UNKNOWN);
                count++;
                if (count % COMMITTED_TOGETHER == 0 || !batches.hasNext()) {
                    folding.maybeFlushBatches(LeaderAndEpoch.UNKNOWN, true);
                }
            }
        }
        return published;
    }

    private MetadataBatchLoader newLoader(boolean forReaders) {
        return new MetadataBatchLoader(
            new LogContext(),
            Time.SYSTEM,
            (message, error) -> new RuntimeException(message, error),
            (delta, next, manifest) -> {
                published = next;
                if (forReaders) image = next;
            },
            SupportedConfigChecker.TRUE);
    }

    private long kept() {
        long before = heap();
        loader = newLoader(true);
        replayed(loader);
        published = MetadataImage.EMPTY;
        long grown = heap() - before;
        Random random = new Random(7);
        List<TopicImage> topics = new ArrayList<>(image.topics().topicsById().values());
        ids = new Uuid[LOOKUPS];
        names = new String[LOOKUPS];
        for (int index = 0; index < LOOKUPS; index++) {
            TopicImage topic = topics.get(random.nextInt(topics.size()));
            // Whoever asks has read it from somewhere, and does not hold the image's own object.
            ids[index] = Uuid.fromString(topic.id().toString());
            names[index] = new String(topic.name());
        }
        return grown;
    }

    private static long heap() {
        for (int turn = 0; turn < 3; turn++) System.gc();
        return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
    }

    // --- Publishing ------------------------------------------------------------------------------

    /** Commit one more record; return the nanoseconds from its bytes to the image of readers. */
    private long changed(byte[] value) {
        long offset = image.offset() + 1;
        long started = System.nanoTime();
        ApiMessageAndVersion record =
            SERDE.read(new ByteBufferAccessor(ByteBuffer.wrap(value)), value.length);
        Batch<ApiMessageAndVersion> batch =
            Batch.data(offset, 1, 0, value.length, List.of(record));
        loader.loadBatch(batch, LeaderAndEpoch.UNKNOWN);
        loader.maybeFlushBatches(LeaderAndEpoch.UNKNOWN, true);
        long took = since(started);
        if (image.offset() != offset) throw new AssertionError(image.offset());
        return took;
    }

    // --- Looking up ------------------------------------------------------------------------------

    private double found(boolean byName) {
        MetadataImage now = image;
        long started = System.nanoTime();
        for (int index = 0; index < LOOKUPS; index++) {
            PartitionRegistration partition = byName
                ? now.topics().getTopic(names[index]).partitions().get(LOOKED_UP)
                : now.topics().getPartition(ids[index], LOOKED_UP);
            seen += partition.leaderEpoch;
        }
        return (double) since(started) / LOOKUPS;
    }

    private double foundWhileChanging(List<byte[]> values) throws InterruptedException {
        Thread publisher = new Thread(() -> {
            while (!Thread.interrupted()) {
                for (byte[] value : values) changed(value);
            }
        });
        publisher.start();
        long started = System.nanoTime();
        int rounds = 0;
        for (; since(started) < 50_000_000; rounds++) {
            for (int index = 0; index < LOOKUPS; index++) {
                seen += image.topics().getPartition(ids[index], LOOKED_UP).leaderEpoch;
            }
        }
        double each = (double) since(started) / LOOKUPS / rounds;
        publisher.interrupt();
        publisher.join();
        return each;
    }

    // --- Snapshots -------------------------------------------------------------------------------

    private long written() {
        MetadataImage now = image;
        long started = System.nanoTime();
        snapshot = new InMemory(now.highestOffsetAndEpoch());
        RecordsSnapshotWriter<ApiMessageAndVersion> records = new RecordsSnapshotWriter.Builder()
            .setLastContainedLogTimestamp(now.provenance().lastContainedLogTimeMs())
            .setMaxBatchSizeBytes(BATCH_BYTES)
            .setMemoryPool(new BatchMemoryPool(5, BATCH_BYTES))
            .setRawSnapshotWriter(snapshot)
            .build(SERDE);
        RaftSnapshotWriter writer = new RaftSnapshotWriter(records, BATCH_RECORDS);
        now.write(writer, new ImageWriterOptions.Builder(now.features().metadataVersionOrThrow())
            .setEligibleLeaderReplicasEnabled(true)
            .build());
        writer.close(true);
        return since(started);
    }

    private long read() {
        long started = System.nanoTime();
        MetadataDelta delta = new MetadataDelta.Builder().setImage(MetadataImage.EMPTY).build();
        MetadataImage loaded;
        try (var reader = RecordsSnapshotReader.of(
                snapshot, SERDE, BufferSupplier.create(), BATCH_BYTES, true, new LogContext())) {
            while (reader.hasNext()) {
                for (ApiMessageAndVersion record : reader.next().records()) {
                    delta.replay(record.message());
                }
            }
            delta.finishSnapshot();
            loaded = delta.apply(new MetadataProvenance(
                reader.lastContainedLogOffset(), reader.lastContainedLogEpoch(),
                reader.lastContainedLogTimestamp(), true));
        }
        long took = since(started);
        if (!loaded.topics().equals(image.topics())) throw new AssertionError("another image");
        return took;
    }

    /** A snapshot's bytes where no disk is in the way. */
    private static final class InMemory implements RawSnapshotWriter, RawSnapshotReader {
        private final OffsetAndEpoch id;
        private final ByteBufferOutputStream data = new ByteBufferOutputStream(1 << 20);
        private boolean frozen;

        InMemory(OffsetAndEpoch id) {
            this.id = id;
        }

        @Override
        public OffsetAndEpoch snapshotId() {
            return id;
        }

        @Override
        public long sizeInBytes() {
            return data.position();
        }

        @Override
        public void append(MemoryRecords records) {
            data.write(records.buffer());
        }

        @Override
        public void append(UnalignedMemoryRecords records) {
            throw new UnsupportedOperationException("nobody fetches this");
        }

        @Override
        public boolean isFrozen() {
            return frozen;
        }

        @Override
        public void freeze() {
            frozen = true;
        }

        @Override
        public void close() { }

        @Override
        public UnalignedRecords slice(long position, int size) {
            throw new UnsupportedOperationException("nobody fetches this");
        }

        @Override
        public Records records() {
            ByteBuffer all = data.buffer().duplicate();
            all.flip();
            return MemoryRecords.readableRecords(all);
        }
    }
}
