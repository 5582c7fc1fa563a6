package barnabas;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Collectors;

import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;
import org.apache.kafka.image.loader.MetadataBatchLoader;
import org.apache.kafka.image.writer.ImageWriterOptions;
import org.apache.kafka.image.writer.RecordListWriter;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.metadata.SupportedConfigChecker;
import org.apache.kafka.raft.Batch;
import org.apache.kafka.raft.LeaderAndEpoch;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.MetadataVersion;

/**
 * Kafka's own fold of the metadata log. Each line asks, and is answered by one line.
 *
 * <pre>
 * begin                                     a new log
 * batch BASE EPOCH APPEND_MS VALUE,VALUE…   a batch, its records in hexadecimal
 * flush                                     the end of what was committed together
 * </pre>
 *
 * The answer holds, between tabs, what was published, each as OFFSET EPOCH ALIGNED and the records
 * that Kafka writes of its image; or "fault" and why.
 */
public final class Image {
    private static final MetadataRecordSerde SERDE = new MetadataRecordSerde();

    private final List<String> answer = new ArrayList<>();
    private MetadataBatchLoader loader = newLoader();

    public static void main(String[] arguments) throws Exception {
        var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        var out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        var image = new Image();
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            image.ask(line.split(" "));
            out.println(String.join("\t", image.answer));
            image.answer.clear();
        }
        out.flush();
    }

    private void ask(String[] words) {
        switch (words[0]) {
            case "begin" -> loader = newLoader();
            case "flush" -> loader.maybeFlushBatches(LeaderAndEpoch.UNKNOWN, true);
            case "batch" -> {
                List<ApiMessageAndVersion> records = new ArrayList<>();
                for (String value : words[4].split(",")) records.add(read(value));
                loader.loadBatch(
                    Batch.data(
                        Long.parseLong(words[1]), Integer.parseInt(words[2]),
                        Long.parseLong(words[3]), 100, records),
                    LeaderAndEpoch.UNKNOWN);
            }
            default -> throw new IllegalArgumentException(words[0]);
        }
    }

    private MetadataBatchLoader newLoader() {
        return new MetadataBatchLoader(
            new LogContext(),
            Time.SYSTEM,
            (message, error) -> {
                answer.add("fault " + error.getMessage());
                return new RuntimeException(message, error);
            },
            (delta, image, manifest) -> answer.add(told(image)),
            SupportedConfigChecker.TRUE);
    }

    private static String told(MetadataImage image) {
        MetadataProvenance end = image.provenance();
        String place = end.lastContainedOffset() + " " + end.lastContainedEpoch() + " "
            + end.isOffsetBatchAligned();
        if (image.features().metadataVersion().isEmpty()) return place + " ";
        MetadataVersion level = image.features().metadataVersionOrThrow();
        RecordListWriter writer = new RecordListWriter();
        image.write(writer, new ImageWriterOptions.Builder(level)
            .setEligibleLeaderReplicasEnabled(level.isElrSupported())
            .build());
        return place + " "
            + writer.records().stream().map(Image::written).collect(Collectors.joining(","));
    }

    private static ApiMessageAndVersion read(String value) {
        byte[] data = HexFormat.of().parseHex(value);
        return SERDE.read(new ByteBufferAccessor(ByteBuffer.wrap(data)), data.length);
    }

    private static String written(ApiMessageAndVersion record) {
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer data = ByteBuffer.allocate(SERDE.recordSize(record, cache));
        SERDE.write(record, cache, new ByteBufferAccessor(data));
        return HexFormat.of().formatHex(data.array());
    }
}
