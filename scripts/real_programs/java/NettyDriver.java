import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.handler.codec.LengthFieldBasedFrameDecoder;
import io.netty.handler.codec.LengthFieldPrepender;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;

/**
 * An echo server and its clients, in one process. Arguments: number of connections, number of
 * requests on each.
 */
public final class NettyDriver {
    public static void main(String[] args) throws Exception {
        int connections = Integer.parseInt(args[0]);
        int requests = Integer.parseInt(args[1]);
        EventLoopGroup servers = new NioEventLoopGroup(2);
        EventLoopGroup clients = new NioEventLoopGroup(2);
        try {
            Channel server = new ServerBootstrap().group(servers).channel(NioServerSocketChannel.class)
                    .childHandler(frames(Echo::new))
                    .bind(new InetSocketAddress("127.0.0.1", 0)).sync().channel();
            List<Client> all = new ArrayList<>();
            for (int i = 0; i < connections; i++) {
                Client client = new Client(i, requests);
                all.add(client);
                new Bootstrap().group(clients).channel(NioSocketChannel.class)
                        .handler(frames(() -> client)).connect(server.localAddress()).sync();
            }
            for (Client client : all) {
                System.out.println("connection " + client.number + " sum " + client.done.get());
            }
            server.close().sync();
            System.out.println("echoed " + Echo.REQUESTS + " requests, failed " + Echo.FAILED);
        } finally {
            clients.shutdownGracefully(0, 5, java.util.concurrent.TimeUnit.SECONDS).sync();
            servers.shutdownGracefully(0, 5, java.util.concurrent.TimeUnit.SECONDS).sync();
        }
    }

    private static ChannelInitializer<SocketChannel> frames(Supplier<ChannelHandler> last) {
        return new ChannelInitializer<>() {
            @Override
            protected void initChannel(SocketChannel channel) {
                channel.pipeline().addLast(new LengthFieldBasedFrameDecoder(1 << 20, 0, 4, 0, 4),
                        new LengthFieldPrepender(4), last.get());
            }
        };
    }

    /** Echoes each message. After some of the answers it throws an exception, on purpose. */
    private static final class Echo extends SimpleChannelInboundHandler<ByteBuf> {
        static final AtomicLong REQUESTS = new AtomicLong();
        static final AtomicLong FAILED = new AtomicLong();

        @Override
        protected void channelRead0(ChannelHandlerContext context, ByteBuf message) {
            long count = REQUESTS.incrementAndGet();
            context.writeAndFlush(message.retainedDuplicate());
            if (message.readableBytes() % 97 == 0) {
                throw new IllegalStateException("on purpose, request " + count);
            }
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
            FAILED.incrementAndGet();
        }
    }

    /** Sends one request after another, each of another length. */
    private static final class Client extends SimpleChannelInboundHandler<ByteBuf> {
        final CompletableFuture<Long> done = new CompletableFuture<>();
        final int number;
        private final int requests;
        private int sent;
        private long sum;

        Client(int number, int requests) {
            this.number = number;
            this.requests = requests;
        }

        @Override
        public void channelActive(ChannelHandlerContext context) {
            send(context);
        }

        @Override
        protected void channelRead0(ChannelHandlerContext context, ByteBuf message) {
            while (message.isReadable()) {
                sum = sum * 31 + message.readByte();
            }
            if (sent < requests) {
                send(context);
            } else {
                context.close();
                done.complete(sum);
            }
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
            done.completeExceptionally(cause);
        }

        private void send(ChannelHandlerContext context) {
            sent++;
            int length = 1 + sent * 37 % 400;
            ByteBuf message = context.alloc().buffer(length);
            for (int i = 0; i < length; i++) {
                message.writeByte(number + sent + i);
            }
            context.writeAndFlush(message);
        }
    }
}
