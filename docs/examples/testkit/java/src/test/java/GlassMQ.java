import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/** A RocketMQ broker for tests. The first test starts it; it is empty in each test, and ends with the JVM. */
public final class GlassMQ implements BeforeEachCallback, AfterEachCallback {
    private static final HttpClient HTTP = HttpClient.newHttpClient();
    private static String addresses;

    /** The address for the clients under test. */
    public String nameServer() {
        return part("name_server_address");
    }

    /** Carries out an operation of /api/testkit and returns its reply; a failed check fails the test. */
    public String post(String path, String json) {
        return call("POST", path, json);
    }

    public String get(String path) {
        return call("GET", path, "");
    }

    @Override
    public void beforeEach(ExtensionContext context) throws Exception {
        start();
        post("/reset", "{}");
    }

    /** Ends all faults; one that acted on no frame fails the test. */
    @Override
    public void afterEach(ExtensionContext context) {
        call("DELETE", context.getExecutionException().isPresent() ? "/faults?unhit=ignore" : "/faults", "");
    }

    private static synchronized void start() throws IOException, InterruptedException {
        if (addresses != null) {
            return;
        }
        Path folder = Files.createTempDirectory("glassmq");
        Path ready = folder.resolve("ready.json");
        // Its standard input is a pipe of this process, so it ends together with it.
        Process process = new ProcessBuilder(
                "glassmq", "serve", "--ephemeral", "--exit-with-parent", "--ready-file", ready.toString())
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
        while (!Files.exists(ready)) {
            if (!process.isAlive()) {
                throw new IllegalStateException("glassmq did not start: exit code " + process.exitValue());
            }
            Thread.sleep(20);
        }
        addresses = Files.readString(ready);
        folder.toFile().deleteOnExit();
    }

    private static String part(String name) {
        Matcher found = Pattern.compile('"' + name + "\": \"([^\"]+)\"").matcher(addresses);
        if (!found.find()) {
            throw new IllegalStateException("no " + name + " in " + addresses);
        }
        return found.group(1);
    }

    private static String call(String method, String path, String json) {
        HttpRequest request = HttpRequest.newBuilder(URI.create(part("api") + path))
            .header("Content-Type", "application/json")
            .method(method, json.isEmpty() ? BodyPublishers.noBody() : BodyPublishers.ofString(json))
            .build();
        try {
            HttpResponse<String> reply = HTTP.send(request, BodyHandlers.ofString());
            if (reply.statusCode() != 200) {
                throw new AssertionError(reply.body().replace("\\n", "\n"));
            }
            return reply.body();
        } catch (IOException | InterruptedException error) {
            throw new IllegalStateException("glassmq does not answer", error);
        }
    }
}
