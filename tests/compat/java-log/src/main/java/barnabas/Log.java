package barnabas;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.kafka.common.message.FetchResponseData;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.server.common.OffsetAndEpoch;
import org.apache.kafka.server.common.RequestLocal;
import org.apache.kafka.server.common.TransactionVersion;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.server.util.Scheduler;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.BatchMetadata;
import org.apache.kafka.storage.internals.log.Cleaner;
import org.apache.kafka.storage.internals.log.EpochEntry;
import org.apache.kafka.storage.internals.log.FetchDataInfo;
import org.apache.kafka.storage.internals.log.LogAppendInfo;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogSegment;
import org.apache.kafka.storage.internals.log.LogStartOffsetIncrementReason;
import org.apache.kafka.storage.internals.log.LogToClean;
import org.apache.kafka.storage.internals.log.ProducerStateEntry;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.SkimpyOffsetMap;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.internals.log.VerificationGuard;
import org.apache.kafka.storage.internals.utils.Throttler;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;
import org.apache.kafka.tools.DumpLogSegments;

import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.Delayed;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * Apache Kafka's own log, told what to do by one JSON object a line; it answers each with one.
 *
 * open directory config clean recoveryPoint startOffset   LogLoader, as after a clean or other stop
 * append records leaderEpoch origin                       as a leader; records are hex
 * follow records leaderEpoch                              as a follower
 * epoch leaderEpoch offset | highWatermark offset | start offset
 * roll | flush | truncate offset | retain | clean firstDirty uncleanable
 * state                                                   everything there is to know, records too
 * read offset | timestamp timestamp | endOfEpoch leaderEpoch
 * fetch offset bytes                                      as a consumer of committed data does
 * close | abandon                                         abandon leaves the files as a crash does
 * dump words                                              DumpLogSegments; what it printed
 * traffic …                                               see Traffic
 *
 * Every order may carry "now": the clock stands still at what was said last. Deferred work (flushes
 * after a roll, deletions) is done at once, so that what lies on the disk follows from the orders.
 */
public final class Log {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int CLEANER_BYTES = 1 << 22;

    private final StoppedClock time = new StoppedClock();
    private UnifiedLog log;

    public static void main(String[] args) throws Exception {
        PrintStream answers = System.out;
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        Log judge = new Log();
        for (String line = orders.readLine(); line != null; line = orders.readLine()) {
            JsonNode order = JSON.readTree(line);
            ObjectNode answer = JSON.createObjectNode();
            try {
                judge.time.nowMs = order.path("now").asLong(judge.time.nowMs);
                judge.perform(order, answer);
            } catch (Exception | AssertionError problem) {
                answer.put("error", problem.getClass().getSimpleName()).put("why", String.valueOf(problem.getMessage()));
            }
            answers.println(JSON.writeValueAsString(answer));
            answers.flush();
        }
    }

    private void perform(JsonNode order, ObjectNode answer) throws Exception {
        long offset = order.path("offset").asLong();
        switch (order.get("order").asText()) {
            case "open" -> open(order);
            case "append" -> told(answer, log.appendAsLeader(records(order), order.get("leaderEpoch").asInt(),
                AppendOrigin.valueOf(order.path("origin").asText("CLIENT")), RequestLocal.noCaching(),
                VerificationGuard.SENTINEL, TransactionVersion.TV_1.featureLevel()));
            case "follow" -> told(answer, log.appendAsFollower(records(order), order.get("leaderEpoch").asInt()));
            case "epoch" -> log.assignEpochStartOffset(order.get("leaderEpoch").asInt(), offset);
            case "highWatermark" -> answer.put("offset", log.updateHighWatermark(offset));
            case "start" -> log.maybeIncrementLogStartOffset(offset, LogStartOffsetIncrementReason.ClientRecordDeletion);
            case "roll" -> log.roll();
            case "flush" -> log.flush(true);
            case "truncate" -> log.truncateTo(offset);
            case "retain" -> answer.put("segments", log.deleteOldSegments());
            case "clean" -> answer.put("offset", clean(order.get("firstDirty").asLong(), order.get("uncleanable").asLong()));
            case "state" -> state(answer);
            case "read" -> read(answer, offset);
            case "timestamp" -> timestamp(answer, order.get("timestamp").asLong());
            case "fetch" -> fetch(answer, offset, order.get("bytes").asInt());
            case "endOfEpoch" -> endOfEpoch(answer, order.get("leaderEpoch").asInt());
            case "close" -> {
                answer.put("recoveryPoint", log.logEndOffset());
                log.close();
            }
            case "abandon" -> log.closeHandlers();
            case "dump" -> dump(answer, order.get("words"));
            case "traffic" -> Traffic.run(order, answer);
            default -> throw new IllegalArgumentException(order.toString());
        }
    }

    private void open(JsonNode order) throws Exception {
        Map<String, Object> settings = new HashMap<>();
        order.get("config").properties().forEach(entry -> settings.put(entry.getKey(), entry.getValue().asText()));
        // The size that tests may choose has no text form.
        settings.put(LogConfig.INTERNAL_SEGMENT_BYTES_CONFIG, order.get("segmentBytes").asInt());
        log = UnifiedLog.create(new File(order.get("directory").asText()), new LogConfig(settings),
            order.path("startOffset").asLong(), order.path("recoveryPoint").asLong(), new AtOnce(),
            new BrokerTopicStats(), time, 900_000, new ProducerStateManagerConfig(86_400_000, false), 600_000,
            new LogDirFailureChannel(1), order.get("clean").asBoolean(), Optional.empty());
    }

    private static MemoryRecords records(JsonNode order) {
        return MemoryRecords.readableRecords(ByteBuffer.wrap(HexFormat.of().parseHex(order.get("records").asText())));
    }

    private static void told(ObjectNode answer, LogAppendInfo info) {
        answer.put("first", info.firstOffset()).put("last", info.lastOffset());
    }

    private long clean(long firstDirty, long uncleanable) throws Exception {
        Cleaner cleaner = new Cleaner(0, new SkimpyOffsetMap(CLEANER_BYTES), CLEANER_BYTES, CLEANER_BYTES, 0.9,
            new Throttler(Double.MAX_VALUE, Long.MAX_VALUE, "cleaner", "bytes", time), time, partition -> { });
        return cleaner.doClean(new LogToClean(log, firstDirty, uncleanable, true), time.nowMs).getKey();
    }

    private void state(ObjectNode answer) throws Exception {
        answer.put("startOffset", log.logStartOffset()).put("endOffset", log.logEndOffset());
        answer.put("highWatermark", log.highWatermark()).put("stableOffset", log.lastStableOffset());
        ArrayNode epochs = answer.putArray("epochs");
        for (EpochEntry entry : log.leaderEpochCache().epochEntries()) {
            epochs.addArray().add(entry.epoch()).add(entry.startOffset());
        }
        ObjectNode producers = answer.putObject("producers");
        Map<Long, ProducerStateEntry> active = new TreeMap<>(log.producerStateManager().activeProducers());
        active.forEach((id, entry) -> producer(producers.putObject(id.toString()), entry));
        ArrayNode segments = answer.putArray("segments");
        ArrayNode batches = answer.putArray("batches");
        for (LogSegment segment : log.logSegments()) {
            segments.addArray().add(segment.baseOffset()).add(segment.size());
            for (RecordBatch batch : segment.log().batches()) {
                batch.ensureValid();
                batch(batches.addArray(), batch);
            }
        }
    }

    private static void producer(ObjectNode into, ProducerStateEntry entry) {
        into.put("epoch", entry.producerEpoch()).put("coordinatorEpoch", entry.coordinatorEpoch());
        into.put("lastTimestamp", entry.lastTimestamp()).put("transactionStart", entry.currentTxnFirstOffset().orElse(-1));
        ArrayNode batches = into.putArray("batches");
        for (BatchMetadata known : entry.batchMetadata()) {
            batches.addArray().add(known.lastSeq()).add(known.lastOffset()).add(known.offsetDelta()).add(known.timestamp());
        }
    }

    private static void batch(ArrayNode into, RecordBatch batch) {
        into.add(batch.baseOffset()).add(batch.lastOffset()).add(batch.partitionLeaderEpoch());
        into.add(batch.maxTimestamp()).add(batch.producerId()).add(batch.producerEpoch()).add(batch.baseSequence());
        ArrayNode records = into.addArray();
        for (Record record : batch) {
            ArrayNode one = records.addArray().add(record.offset()).add(record.timestamp());
            one.add(text(record.hasKey() ? record.key() : null)).add(text(record.hasValue() ? record.value() : null));
            for (Header header : record.headers()) {
                one.add(header.key()).add(text(header.value() == null ? null : ByteBuffer.wrap(header.value())));
            }
        }
    }

    private static String text(ByteBuffer bytes) {
        return bytes == null ? null : Base64.getEncoder().encodeToString(Utils.toArray(bytes));
    }

    private void read(ObjectNode answer, long offset) throws Exception {
        RecordBatch first = log.read(offset, 1, FetchIsolation.LOG_END, true).records.batches().iterator().next();
        answer.put("first", first.baseOffset()).put("last", first.lastOffset());
    }

    private void timestamp(ObjectNode answer, long timestamp) {
        log.fetchOffsetByTimestamp(timestamp, Optional.empty()).timestampAndOffsetOpt()
            .ifPresent(found -> answer.put("timestamp", found.timestamp).put("offset", found.offset));
    }

    private void fetch(ObjectNode answer, long offset, int bytes) throws Exception {
        FetchDataInfo found = log.read(offset, bytes, FetchIsolation.TXN_COMMITTED, true);
        answer.put("size", found.records.sizeInBytes());
        ArrayNode aborted = answer.putArray("aborted");
        for (FetchResponseData.AbortedTransaction one : found.abortedTransactions.orElse(List.of())) {
            aborted.addArray().add(one.producerId()).add(one.firstOffset());
        }
    }

    private void endOfEpoch(ObjectNode answer, int epoch) {
        Optional<OffsetAndEpoch> found = log.endOffsetForEpoch(epoch);
        found.ifPresent(end -> answer.put("epoch", end.epoch()).put("endOffset", end.offset()));
    }

    private static void dump(ObjectNode answer, JsonNode words) throws Exception {
        PrintStream out = System.out;
        PrintStream err = System.err;
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        ByteArrayOutputStream complained = new ByteArrayOutputStream();
        try {
            System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
            System.setErr(new PrintStream(complained, true, StandardCharsets.UTF_8));
            DumpLogSegments.main(JSON.convertValue(words, String[].class));
        } finally {
            System.setOut(out);
            System.setErr(err);
        }
        answer.put("out", printed.toString(StandardCharsets.UTF_8)).put("err", complained.toString(StandardCharsets.UTF_8));
    }

    /** A clock that only orders move. */
    private static final class StoppedClock implements Time {
        private long nowMs;

        @Override
        public long milliseconds() {
            return nowMs;
        }

        @Override
        public long nanoseconds() {
            return nowMs * 1_000_000;
        }

        @Override
        public void sleep(long ms) {
            nowMs += ms;
        }

        @Override
        public void waitObject(Object object, Supplier<Boolean> condition, long deadlineMs) {
            throw new IllegalStateException("a log waits for nothing");
        }
    }

    /** Does what is put off at once, and what is to be done again and again never. */
    private static final class AtOnce implements Scheduler {
        @Override
        public void startup() { }

        @Override
        public void shutdown() { }

        @Override
        public void resizeThreadPool(int size) { }

        @Override
        public ScheduledFuture<?> schedule(String name, Runnable task, long delayMs, long periodMs) {
            if (periodMs < 0) {
                task.run();
            }
            return new Done();
        }
    }

    private static final class Done extends java.util.concurrent.CompletableFuture<Void> implements ScheduledFuture<Void> {
        private Done() {
            complete(null);
        }

        @Override
        public long getDelay(TimeUnit unit) {
            return 0;
        }

        @Override
        public int compareTo(Delayed other) {
            return 0;
        }
    }
}
