package barnabas;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;

import kafka.server.ControllerConfigurationValidator;
import kafka.server.KafkaConfig;

import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.coordinator.group.GroupConfig;
import org.apache.kafka.server.config.AbstractKafkaConfig;
import org.apache.kafka.server.config.DynamicBrokerConfig;
import org.apache.kafka.server.config.DynamicConfig;
import org.apache.kafka.server.config.QuotaConfig;
import org.apache.kafka.server.config.ConfigSynonym;
import org.apache.kafka.server.config.ServerTopicConfigSynonyms;
import org.apache.kafka.server.metrics.ClientMetricsConfigs;
import org.apache.kafka.storage.internals.log.LogConfig;

/**
 * Kafka's own definitions of configs. Each line asks, and is answered by one line.
 *
 * <pre>
 * list KIND                        its configs: NAME TYPE DEFAULT INTERNAL MODE RULE SYNONYM…
 * parse KIND NAME VALUE            ok and the value as Kafka writes it; or error and why
 * validate KIND RESOURCE STATIC OLD NEW
 *                                  ok; or error and why, as a controller says it
 * dynamic PER_BROKER NEW           the same, as a broker says it of its own configs
 * </pre>
 *
 * KIND is topic, broker, group, client-metrics, user or ip. Words are separated by
 * spaces and written as in URLs, "~" is null; STATIC, OLD and NEW are NAME=VALUE&amp;… or "~".
 */
public final class Configs {
    public static void main(String[] arguments) throws Exception {
        var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        var out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.println(answer(line.split(" ", -1)));
        }
        out.flush();
    }

    private static String answer(String[] words) {
        try {
            return switch (words[0]) {
                case "list" -> "ok\t" + String.join("\t", listed(words[1]));
                case "parse" -> {
                    var key = definition(words[1]).configKeys().get(words[2]);
                    Map<String, String> set = new HashMap<>();
                    set.put(key.name, read(words[3]));
                    Object value = new ConfigDef().define(key).parse(set).get(key.name);
                    yield "ok\t" + written(ConfigDef.convertToString(value, key.type));
                }
                case "validate" -> {
                    var validator = new ControllerConfigurationValidator(node(pairs(words[3])));
                    validator.validate(
                        new ConfigResource(type(words[1]), read(words[2])),
                        pairs(words[5]), pairs(words[4]));
                    yield "ok";
                }
                case "dynamic" -> {
                    Properties wanted = new Properties();
                    wanted.putAll(pairs(words[2]));
                    DynamicBrokerConfig.validateConfigs(wanted, Boolean.parseBoolean(words[1]));
                    yield "ok";
                }
                default -> throw new IllegalArgumentException(words[0]);
            };
        } catch (Exception error) {
            return "error\t" + written(error.getClass().getSimpleName()) + "\t"
                + written(error.getMessage());
        }
    }

    private static KafkaConfig node(Map<String, String> lines) {
        Properties properties = new Properties();
        properties.setProperty("process.roles", "controller");
        properties.setProperty("node.id", "1");
        properties.setProperty("controller.listener.names", "CONTROLLER");
        properties.setProperty("listeners", "CONTROLLER://:9093");
        properties.setProperty("controller.quorum.bootstrap.servers", "localhost:9093");
        properties.putAll(lines);
        return new KafkaConfig(properties, false);
    }

    private static List<String> listed(String kind) {
        Map<String, String> modes = DynamicBrokerConfig.dynamicConfigUpdateModes();
        List<String> rows = new ArrayList<>();
        for (var key : new TreeMap<>(definition(kind).configKeys()).values()) {
            List<String> row = new ArrayList<>();
            row.add(key.name);
            row.add(key.type.name());
            row.add(key.hasDefault()
                ? written(ConfigDef.convertToString(key.defaultValue, key.type)) : "!");
            row.add(String.valueOf(key.internalConfig));
            row.add(kind.equals("broker") ? modes.getOrDefault(key.name, "read-only") : "-");
            row.add(written(key.validator == null ? null : key.validator.toString()));
            if (kind.equals("topic")) {
                var synonyms = ServerTopicConfigSynonyms.ALL_TOPIC_CONFIG_SYNONYMS
                    .getOrDefault(key.name, List.of());
                for (ConfigSynonym synonym : synonyms) {
                    row.add(synonym.name() + "=" + synonym.converter().apply("1"));
                }
            } else if (kind.equals("group")) {
                GroupConfig.brokerSynonym(key.name).ifPresent(row::add);
            } else if (kind.equals("broker")) {
                row.addAll(DynamicBrokerConfig.brokerConfigSynonyms(key.name, false));
            }
            rows.add(String.join(" ", row));
        }
        return rows;
    }

    private static ConfigDef definition(String kind) {
        return switch (kind) {
            case "topic" -> LogConfig.configDefCopy();
            case "broker" -> {
                ConfigDef all = new ConfigDef(AbstractKafkaConfig.CONFIG_DEF);
                DynamicConfig.Broker.configKeys().forEach((name, key) -> {
                    if (!all.names().contains(name)) all.define(key);
                });
                yield all;
            }
            case "group" -> GroupConfig.CONFIG_DEF;
            case "client-metrics" -> ClientMetricsConfigs.configDef();
            case "user" -> QuotaConfig.userAndClientQuotaConfigs();
            case "ip" -> QuotaConfig.ipConfigs();
            default -> throw new IllegalArgumentException(kind);
        };
    }

    private static ConfigResource.Type type(String kind) {
        return ConfigResource.Type.valueOf(kind.toUpperCase().replace('-', '_'));
    }

    private static Map<String, String> pairs(String text) {
        Map<String, String> found = new HashMap<>();
        if (text.equals("~")) return found;
        for (String pair : text.split("&")) {
            int at = pair.indexOf('=');
            found.put(read(pair.substring(0, at)), read(pair.substring(at + 1)));
        }
        return found;
    }

    private static String read(String word) {
        return word.equals("~") ? null : URLDecoder.decode(word, StandardCharsets.UTF_8);
    }

    private static String written(String value) {
        return value == null ? "~" : URLEncoder.encode(value, StandardCharsets.UTF_8);
    }
}
