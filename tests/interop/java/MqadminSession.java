import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.List;
import org.apache.rocketmq.tools.command.MQAdminStartup;

/**
 * Runs many mqadmin commands in one JVM: a start costs more than a command.
 *
 * <p>MqadminSession NAME_SERVER FILE where each line of FILE is one command, its words separated by tabs. Before the
 * output of command n stands a line "@@@ n", behind that of the last one "@@@ end". A command that has not ended after
 * a minute is left alone, and the next one begins.
 */
public final class MqadminSession {
    private static final long DEADLINE_MS = 60_000;

    private MqadminSession() {
    }

    public static void main(String[] args) throws Exception {
        System.setErr(System.out);
        List<String> commands = Files.readAllLines(Paths.get(args[1]), StandardCharsets.UTF_8);
        for (int number = 0; number < commands.size(); number++) {
            System.out.printf("%n@@@ %d%n", number);
            String line = commands.get(number) + "\t-n\t" + args[0];
            Thread command = new Thread(() -> MQAdminStartup.main0(line.split("\t"), null), "command");
            command.setDaemon(true);
            command.start();
            command.join(DEADLINE_MS);
            if (command.isAlive()) {
                System.out.printf("%nthe command has not ended%n");
            }
            System.out.flush();
        }
        System.out.printf("%n@@@ end%n");
        System.out.flush();
        System.exit(0);
    }
}
