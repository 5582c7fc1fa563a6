package barnabas;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;

import org.apache.kafka.common.record.internal.FileRecords;
import org.apache.kafka.common.utils.BufferSupplier;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;
import org.apache.kafka.image.loader.MetadataBatchLoader;
import org.apache.kafka.image.node.MetadataImageNode;
import org.apache.kafka.image.node.printer.MetadataNodePrinter;
import org.apache.kafka.image.node.printer.MetadataNodeRedactionCriteria;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.metadata.SupportedConfigChecker;
import org.apache.kafka.raft.Batch;
import org.apache.kafka.raft.LeaderAndEpoch;
import org.apache.kafka.raft.internals.RecordsIterator;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.snapshot.FileRawSnapshotReader;
import org.apache.kafka.snapshot.RecordsSnapshotReader;
import org.apache.kafka.snapshot.SnapshotPath;
import org.apache.kafka.snapshot.Snapshots;

/**
 * What Kafka makes of a metadata directory, at every offset: its own reader of files, its own
 * loader, its own nodes of its shell. Each line names files, to be read one after the other: a
 * snapshot first, if there is one, then segments of the log from where it ends. Every batch is a
 * commit of its own. The answer is
 *
 * <pre>
 * image OFFSET EPOCH ALIGNED   an image that was published, followed by
 * PATH&lt;tab&gt;TEXT               each of its leaves
 * done                         the end of the answer
 * </pre>
 *
 * where backslashes, line feeds and tabs are written as in Java.
 */
public final class Tree {
    private static final MetadataRecordSerde SERDE = new MetadataRecordSerde();
    private static final int BATCH_BYTES = 8 * 1024 * 1024;

    private final PrintStream out;
    private final MetadataBatchLoader loader;
    private long end = 0;

    private Tree(PrintStream out) {
        this.out = out;
        loader = new MetadataBatchLoader(
            new LogContext(),
            Time.SYSTEM,
            (message, error) -> new RuntimeException(message, error),
            (delta, image, manifest) -> tell(image),
            SupportedConfigChecker.TRUE);
    }

    public static void main(String[] arguments) throws IOException {
        var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        var out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            Tree tree = new Tree(out);
            for (String file : line.split("\t")) tree.take(Path.of(file));
            out.println("done");
            out.flush();
        }
    }

    private void take(Path file) throws IOException {
        var name = Snapshots.parse(file);
        if (name.isPresent()) {
            load(file.getParent(), name.get());
        } else {
            follow(file);
        }
    }

    private void load(Path directory, SnapshotPath name) {
        try (
            var file = FileRawSnapshotReader.open(directory, name.snapshotId());
            var reader = RecordsSnapshotReader.of(
                file, SERDE, BufferSupplier.create(), BATCH_BYTES, true, new LogContext())
        ) {
            MetadataDelta delta = new MetadataDelta.Builder().setImage(MetadataImage.EMPTY).build();
            while (reader.hasNext()) {
                for (ApiMessageAndVersion record : reader.next().records()) {
                    delta.replay(record.message());
                }
            }
            delta.finishSnapshot();
            MetadataImage image = delta.apply(new MetadataProvenance(
                reader.lastContainedLogOffset(), reader.lastContainedLogEpoch(),
                reader.lastContainedLogTimestamp(), true));
            loader.resetToImage(image);
            end = name.snapshotId().offset();
            tell(image);
        }
    }

    private void follow(Path segment) throws IOException {
        try (
            var file = FileRecords.open(segment.toFile(), false);
            var batches = new RecordsIterator<>(
                file, SERDE, BufferSupplier.create(), BATCH_BYTES, true, new LogContext())
        ) {
            while (batches.hasNext()) {
                Batch<ApiMessageAndVersion> batch = batches.next();
                if (batch.baseOffset() < end) continue;
                loader.loadBatch(batch, LeaderAndEpoch.UNKNOWN);
                loader.maybeFlushBatches(LeaderAndEpoch.UNKNOWN, true);
                end = batch.lastOffset() + 1;
            }
        }
    }

    private void tell(MetadataImage image) {
        MetadataProvenance from = image.provenance();
        out.println("image " + from.lastContainedOffset() + " " + from.lastContainedEpoch() + " "
            + from.isOffsetBatchAligned());
        new MetadataImageNode(image).print(new Leaves());
    }

    /** Prints what leaves say, each behind its path. */
    private final class Leaves implements MetadataNodePrinter {
        private final Deque<String> names = new ArrayDeque<>();

        @Override
        public MetadataNodeRedactionCriteria redactionCriteria() {
            return MetadataNodeRedactionCriteria.Disabled.INSTANCE;
        }

        @Override
        public void enterNode(String name) {
            names.addLast(name);
        }

        @Override
        public void leaveNode() {
            names.removeLast();
        }

        @Override
        public void output(String text) {
            out.println(written("/image/" + String.join("/", names)) + "\t" + written(text));
        }

        private static String written(String text) {
            return text.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t");
        }
    }
}
