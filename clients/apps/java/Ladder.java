import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import com.rabbitmq.client.Delivery;
import com.rabbitmq.client.impl.ClientVersion;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.Date;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * An application on RabbitMQ's client for Java: rejected orders wait 5 s and come back by an exchange of their own; after
 * three tries the worker publishes them to a queue for people, with headers of its own in camel case. A second service
 * gets the same orders, and always works.
 *
 * <pre>
 *   java Ladder.java version
 *   java Ladder.java setup    declares everything
 *   java Ladder.java send N   publishes orders 0 to N-1
 *   java Ladder.java work     handles them until it is ended: all fail, or, with OK=1, all succeed
 * </pre>
 */
public class Ladder {
  static final int MOST_TRIES = 3;

  public static void main(String[] args) throws Exception {
    if (args[0].equals("version")) {
      System.out.println("amqp-client " + ClientVersion.VERSION);
      return;
    }
    ConnectionFactory factory = new ConnectionFactory();
    factory.setUri(System.getenv("AMQP_URL"));
    try (Connection connection = factory.newConnection()) {
      Channel channel = connection.createChannel();
      declare(channel);
      if (args[0].equals("send")) {
        send(channel, Integer.parseInt(args[1]));
      }
      if (args[0].equals("work")) {
        channel.basicQos(5);
        channel.basicConsume("jv.audit", true, (tag, order) -> {}, tag -> {});
        channel.basicConsume("jv.orders", false, (tag, order) -> handle(channel, order), tag -> {});
        Thread.currentThread().join();
      }
    }
  }

  static void declare(Channel channel) throws IOException {
    channel.exchangeDeclare("jv.shop", "topic", true);
    channel.exchangeDeclare("jv.retry", "fanout", true);
    channel.exchangeDeclare("jv.requeue", "fanout", true);
    channel.queueDeclare("jv.orders", true, false, false, Map.of("x-dead-letter-exchange", "jv.retry"));
    channel.queueBind("jv.orders", "jv.shop", "order.*");
    channel.queueBind("jv.orders", "jv.requeue", "");
    channel.queueDeclare("jv.orders.wait", true, false, false,
        Map.of("x-message-ttl", 5000, "x-dead-letter-exchange", "jv.requeue"));
    channel.queueBind("jv.orders.wait", "jv.retry", "");
    channel.queueDeclare("jv.audit", true, false, false, null);
    channel.queueBind("jv.audit", "jv.shop", "order.*");
    channel.queueDeclare("jv.parking", true, false, false, null);
  }

  static void send(Channel channel, int n) throws Exception {
    channel.confirmSelect();
    for (int i = 0; i < n; i++) {
      channel.basicPublish("jv.shop", "order.created", new BasicProperties.Builder().deliveryMode(2).messageId("order-" + i)
          .timestamp(new Date()).headers(Map.of("tenant", "acme")).build(), String.valueOf(i).getBytes());
    }
    channel.waitForConfirmsOrDie(30_000);
  }

  static void handle(Channel channel, Delivery order) throws IOException {
    String id = new String(order.getBody());
    long tag = order.getEnvelope().getDeliveryTag();
    if (System.getenv("OK") != null) {
      System.out.println("PROCESSED " + id);
      channel.basicAck(tag, false);
      return;
    }
    System.out.println("FAILED " + id);
    Map<String, Object> headers = new HashMap<>(order.getProperties().getHeaders());
    int tries = tries(headers) + 1;
    if (tries < MOST_TRIES) {
      channel.basicReject(tag, false);
      return;
    }
    StringWriter trace = new StringWriter();
    new IllegalStateException("stock service: 503").printStackTrace(new PrintWriter(trace));
    headers.keySet().removeIf(name -> name.contains("death"));
    headers.put("retryCount", tries);
    headers.put("errorMessage", "stock service: 503");
    headers.put("errorClass", "java.lang.IllegalStateException");
    headers.put("stackTrace", trace.toString());
    headers.put("failedAt", new Date());
    channel.basicPublish("", "jv.parking", order.getProperties().builder().headers(headers).build(), order.getBody());
    channel.basicAck(tag, false);
  }

  /** How often the worker had an order before: as it counted itself, and as the broker counts rejections. */
  static int tries(Map<String, Object> headers) {
    int tries = headers.get("retryCount") instanceof Number counted ? counted.intValue() : 0;
    if (headers.get("x-death") instanceof List<?> deaths) {
      for (Object death : deaths) {
        Map<?, ?> entry = (Map<?, ?>) death;
        if (entry.get("queue").toString().equals("jv.orders")) {
          tries = Math.max(tries, ((Number) entry.get("count")).intValue());
        }
      }
    }
    return tries;
  }
}
