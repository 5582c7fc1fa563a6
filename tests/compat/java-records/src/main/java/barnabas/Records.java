package barnabas;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Properties;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.message.LeaderChangeMessage;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.CompressionType;
import org.apache.kafka.common.record.internal.ControlRecordType;
import org.apache.kafka.common.record.internal.EndTransactionMarker;
import org.apache.kafka.common.record.internal.FileRecords;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MemoryRecordsBuilder;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.common.requests.ProduceRequest;
import org.apache.kafka.common.utils.ByteBufferOutputStream;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.server.util.KafkaScheduler;
import org.apache.kafka.storage.internals.log.FetchDataInfo;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.RecordValidationException;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

/**
 * Kafka's record batches, asked one line at a time on standard input. Bytes are hex, null is "-".
 *
 * <pre>
 *   build MAGIC CODEC TYPE OFFSET APPENDTIME PID EPOCH SEQUENCE TXN CONTROL LEADEREPOCH HORIZON LAST RECORD;...
 *       the bytes; a RECORD is offset,timestamp,key,value,key=value&amp;...
 *   read HEX              each batch and its records, see describe()
 *   marker PID EPOCH COMMIT COORDINATOREPOCH TIMESTAMP
 *   leader OFFSET TIMESTAMP LEADEREPOCH LEADER
 *   append VERSION NOW CONFIG=VALUE,... HEX
 *       what a produce request of this version leaves in an empty log at offset 1000 that epoch 7
 *       leads, at a wall clock of NOW; or the error code that its producer gets
 * </pre>
 *
 * An answer is one line: "ok", a tab and the above, or "error", a tab and the name of the code.
 */
public final class Records {
    private static final HexFormat HEX = HexFormat.of();
    private static final KafkaScheduler SCHEDULER = new KafkaScheduler(1);

    private Records() { }

    public static void main(String[] arguments) throws IOException {
        SCHEDULER.startup();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ");
            String answer;
            try {
                answer = "ok\t" + switch (words[0]) {
                    case "build" -> hex(build(words));
                    case "read" -> read(HEX.parseHex(words[1]));
                    case "marker" -> hex(marker(words));
                    case "leader" -> hex(leader(words));
                    case "append" -> append(words);
                    default -> throw new IllegalArgumentException(words[0]);
                };
            } catch (RecordValidationException refusal) {
                answer = "error\t" + Errors.forException(refusal.invalidException());
            } catch (Throwable problem) {
                answer = "error\t" + Errors.forException(problem) + "\t" + String.valueOf(problem).replaceAll("\\s+", " ");
            }
            System.out.println(answer);
        }
        System.exit(0);
    }

    private static byte[] octets(String word) {
        return word.equals("-") ? null : HEX.parseHex(word);
    }

    private static String word(ByteBuffer buffer) {
        if (buffer == null) {
            return "-";
        }
        byte[] octets = new byte[buffer.remaining()];
        buffer.duplicate().get(octets);
        return HEX.formatHex(octets);
    }

    private static String hex(MemoryRecords records) {
        return word(records.buffer());
    }

    private static Header[] headers(String word) {
        List<Header> headers = new ArrayList<>();
        for (String pair : word.isEmpty() ? new String[0] : word.split("&")) {
            String[] sides = pair.split("=", -1);
            headers.add(new RecordHeader(new String(HEX.parseHex(sides[0]), StandardCharsets.UTF_8), octets(sides[1])));
        }
        return headers.toArray(new Header[0]);
    }

    private static MemoryRecords build(String[] words) {
        TimestampType type = TimestampType.forName(words[3]);
        boolean control = words[10].equals("1");
        byte magic = Byte.parseByte(words[1]);
        MemoryRecordsBuilder builder = new MemoryRecordsBuilder(
            new ByteBufferOutputStream(1024), magic, Compression.of(CompressionType.forName(words[2])).build(), type,
            Long.parseLong(words[4]), Long.parseLong(words[5]), Long.parseLong(words[6]), Short.parseShort(words[7]),
            Integer.parseInt(words[8]), words[9].equals("1"), control, Integer.parseInt(words[11]), Integer.MAX_VALUE,
            Long.parseLong(words[12]));
        for (String record : words[14].split(";")) {
            String[] fields = record.split(",", -1);
            long offset = Long.parseLong(fields[0]);
            long timestamp = Long.parseLong(fields[1]);
            if (control) {
                builder.appendControlRecordWithOffset(
                    offset, new SimpleRecord(timestamp, octets(fields[2]), octets(fields[3])));
            } else {
                builder.appendWithOffset(offset, timestamp, octets(fields[2]), octets(fields[3]), headers(fields[4]));
            }
        }
        if (!words[13].equals("-")) {
            builder.overrideLastOffset(Long.parseLong(words[13]));
        }
        return builder.build();
    }

    private static String read(byte[] data) {
        StringBuilder text = new StringBuilder();
        for (RecordBatch batch : MemoryRecords.readableRecords(ByteBuffer.wrap(data)).batches()) {
            batch.ensureValid();
            text.append(describe(batch)).append('\t');
            for (Record record : batch) {
                record.ensureValid();
                text.append(describe(record)).append(';');
            }
            text.append('\t');
        }
        return text.toString();
    }

    private static String describe(RecordBatch batch) {
        OptionalLong horizon = batch.deleteHorizonMs();
        return String.join(" ", Stream.of(
            batch.magic(), batch.baseOffset(), batch.lastOffset(), batch.nextOffset(), batch.partitionLeaderEpoch(),
            batch.compressionType().id, batch.timestampType() == TimestampType.LOG_APPEND_TIME ? 1 : 0,
            batch.maxTimestamp(), batch.producerId(), batch.producerEpoch(), batch.baseSequence(), batch.lastSequence(),
            batch.isTransactional() ? 1 : 0, batch.isControlBatch() ? 1 : 0,
            horizon.isPresent() ? String.valueOf(horizon.getAsLong()) : "-", batch.sizeInBytes(), batch.checksum()
        ).map(Object::toString).toList());
    }

    private static String describe(Record record) {
        List<String> headers = new ArrayList<>();
        for (Header header : record.headers()) {
            String key = HEX.formatHex(header.key().getBytes(StandardCharsets.UTF_8));
            headers.add(key + "=" + (header.value() == null ? "-" : HEX.formatHex(header.value())));
        }
        return record.offset() + "," + record.timestamp() + "," + word(record.key()) + "," + word(record.value())
            + "," + String.join("&", headers);
    }

    private static MemoryRecords marker(String[] words) {
        ControlRecordType type = words[3].equals("1") ? ControlRecordType.COMMIT : ControlRecordType.ABORT;
        return MemoryRecords.withEndTransactionMarker(
            Long.parseLong(words[5]), Long.parseLong(words[1]), Short.parseShort(words[2]),
            new EndTransactionMarker(type, Integer.parseInt(words[4])));
    }

    private static MemoryRecords leader(String[] words) {
        return MemoryRecords.withLeaderChangeMessage(
            Long.parseLong(words[1]), Long.parseLong(words[2]), Integer.parseInt(words[3]), ByteBuffer.allocate(1024),
            new LeaderChangeMessage().setLeaderId(Integer.parseInt(words[4])));
    }

    private static String append(String[] words) throws IOException {
        byte[] data = words.length > 4 ? HEX.parseHex(words[4]) : new byte[0];
        Properties configs = new Properties();
        for (String config : words[3].split(",")) {
            String[] sides = config.split("=");
            if (sides.length == 2) {
                configs.put(sides[0], sides[1]);
            }
        }
        MemoryRecords records = MemoryRecords.readableRecords(ByteBuffer.wrap(data));
        ProduceRequest.validateRecords(Short.parseShort(words[1]), records);
        Path parent = Files.createTempDirectory("records-judge");
        try {
            UnifiedLog log = UnifiedLog.create(
                new File(parent.toFile(), "topic-0"), new LogConfig(configs), 0, 0, SCHEDULER,
                new BrokerTopicStats(), new Stopped(Long.parseLong(words[2])), 60_000,
                new ProducerStateManagerConfig(60_000, false), 60_000, new LogDirFailureChannel(1), true, Optional.empty());
            try {
                log.truncateFullyAndStartAt(1000, Optional.empty());
                log.appendAsLeader(records, 7);
                FetchDataInfo read = log.read(1000, Integer.MAX_VALUE, FetchIsolation.LOG_END, true);
                FileRecords stored = (FileRecords) read.records;
                ByteBuffer buffer = ByteBuffer.allocate(stored.sizeInBytes());
                stored.readInto(buffer, 0);
                return word(buffer);
            } finally {
                log.close();
            }
        } finally {
            try (Stream<Path> paths = Files.walk(parent)) {
                paths.sorted(Comparator.reverseOrder()).map(Path::toFile).forEach(File::delete);
            }
        }
    }

    /** A wall clock that stands still. */
    private record Stopped(long now) implements Time {
        @Override
        public long milliseconds() {
            return now;
        }

        @Override
        public long hiResClockMs() {
            return Time.SYSTEM.hiResClockMs();
        }

        @Override
        public long nanoseconds() {
            return Time.SYSTEM.nanoseconds();
        }

        @Override
        public void sleep(long ms) {
            Time.SYSTEM.sleep(ms);
        }

        @Override
        public void waitObject(Object object, Supplier<Boolean> condition, long deadlineMs) throws InterruptedException {
            Time.SYSTEM.waitObject(object, condition, deadlineMs);
        }
    }
}
