package barnabas;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.jar.JarFile;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.message.ApiMessageType.ListenerType;
import org.apache.kafka.common.message.ApiVersionsResponseData.ApiVersion;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;

/**
 * Kafka's generated message classes, asked one line at a time on standard input:
 *
 * <pre>
 *   messages                       NAME LOWEST HIGHEST of every message there is
 *   errors                         CODE NAME RETRIABLE of every error
 *   apis                           KEY NAME BROKER CONTROLLER LOWEST HIGHEST HEADERS of every API: whether
 *                                  such a listener serves it, its stable versions, and for each of those
 *                                  the versions of the headers of request and response
 *   write NAME VERSION OTHER JSON  the bytes, in hex, of saying in version OTHER what JSON says in VERSION
 *   read NAME VERSION HEX          what the converter prints, a tab, the bytes of writing it again
 * </pre>
 *
 * An answer is one line: "ok", a tab and the above (a table has tabs between its rows), or "error",
 * a tab and why. Messages go by the name in their schema; classes are found by looking through the
 * jars of the class path.
 */
public final class Wire {
    private static final Pattern CONVERTER = Pattern.compile(".*/([A-Za-z]+)JsonConverter\\.class");
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final HexFormat HEX = HexFormat.of();

    private record Known(Constructor<?> make, Method read, Method write, short lowest, short highest) {
        Message fromJson(JsonNode json, short version) throws ReflectiveOperationException {
            return (Message) read.invoke(null, json, version);
        }

        Message fromBytes(byte[] bytes, short version) throws ReflectiveOperationException {
            ByteBuffer buffer = ByteBuffer.wrap(bytes);
            Message message = (Message) make.newInstance();
            message.read(new ByteBufferAccessor(buffer), version);
            if (buffer.hasRemaining()) {
                throw new IllegalArgumentException(buffer.remaining() + " bytes are left");
            }
            return message;
        }

        JsonNode toJson(Message message, short version) throws ReflectiveOperationException {
            return (JsonNode) write.invoke(null, message, version, true);
        }
    }

    private final Map<String, Known> known = new TreeMap<>();

    private Wire() throws IOException, ReflectiveOperationException {
        for (String entry : System.getProperty("java.class.path").split(":")) {
            if (!Path.of(entry).getFileName().toString().startsWith("kafka-")) {
                continue;
            }
            try (JarFile jar = new JarFile(entry)) {
                for (String file : jar.stream().map(Object::toString).sorted().toList()) {
                    Matcher matcher = CONVERTER.matcher(file);
                    if (matcher.matches()) {
                        // FetchRequest.json makes FetchRequestData, QuorumStateData.json QuorumStateData.
                        String name = matcher.group(1);
                        String shorter = name.replaceFirst("Data$", "");
                        boolean shortened = jar.getEntry("common/message/" + shorter + ".json") != null;
                        learn(file.replace("JsonConverter.class", "").replace('/', '.'), shortened ? shorter : name);
                    }
                }
            }
        }
    }

    private void learn(String className, String name) throws ReflectiveOperationException {
        Class<?> message = Class.forName(className);
        Class<?> converter = Class.forName(className + "JsonConverter");
        known.put(name, new Known(
            message.getConstructor(),
            converter.getMethod("read", JsonNode.class, short.class),
            converter.getMethod("write", message, short.class, boolean.class),
            message.getField("LOWEST_SUPPORTED_VERSION").getShort(null),
            message.getField("HIGHEST_SUPPORTED_VERSION").getShort(null)));
    }

    private String answer(String line) throws IOException, ReflectiveOperationException {
        String[] words = line.split(" ", 5);
        return switch (words[0]) {
            case "messages" -> table(known.entrySet().stream(), entry ->
                entry.getKey() + " " + entry.getValue().lowest + " " + entry.getValue().highest);
            case "errors" -> table(Stream.of(Errors.values()), error ->
                error.code() + " " + error + " " + (error.exception() instanceof RetriableException));
            case "apis" -> table(
                Stream.of(ApiKeys.values()).filter(api -> api.toApiVersion(false).isPresent()), Wire::row);
            case "write" -> {
                JsonNode json = JSON.readTree(words[4]);
                Message message = known.get(words[1]).fromJson(json, Short.parseShort(words[2]));
                yield hex(message, Short.parseShort(words[3]));
            }
            case "read" -> {
                short version = Short.parseShort(words[2]);
                Message message = known.get(words[1]).fromBytes(HEX.parseHex(words[3]), version);
                yield known.get(words[1]).toJson(message, version) + "\t" + hex(message, version);
            }
            default -> throw new IllegalArgumentException("no such question: " + line);
        };
    }

    private static <T> String table(Stream<T> things, Function<T, String> row) {
        return things.map(row).collect(Collectors.joining("\t"));
    }

    private static String row(ApiKeys api) {
        ApiVersion stable = api.toApiVersion(false).orElseThrow();
        String headers = IntStream.rangeClosed(stable.minVersion(), stable.maxVersion())
            .mapToObj(version -> headers(api, (short) version))
            .collect(Collectors.joining(","));
        return Stream.of(api.id, api.name(), api.inScope(ListenerType.BROKER), api.inScope(ListenerType.CONTROLLER),
                stable.minVersion(), stable.maxVersion(), headers)
            .map(String::valueOf)
            .collect(Collectors.joining(" "));
    }

    private static String headers(ApiKeys api, short version) {
        return api.requestHeaderVersion(version) + "/" + api.responseHeaderVersion(version);
    }

    private static String hex(Message message, short version) {
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer buffer = ByteBuffer.allocate(message.size(cache, version));
        message.write(new ByteBufferAccessor(buffer), cache, version);
        return HEX.formatHex(Arrays.copyOf(buffer.array(), buffer.position()));
    }

    public static void main(String[] arguments) throws IOException, ReflectiveOperationException {
        Wire wire = new Wire();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String answer;
            try {
                answer = "ok\t" + wire.answer(line);
            } catch (InvocationTargetException thrown) {
                answer = "error\t" + thrown.getCause();
            } catch (IOException | ReflectiveOperationException | RuntimeException thrown) {
                answer = "error\t" + thrown;
            }
            out.println(answer.replace('\n', ' '));
        }
        out.flush();
    }
}
