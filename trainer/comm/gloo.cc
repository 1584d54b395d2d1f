/* dstrain_gloo.so: gloo's collectives (gloo 0.5 of 2022 and later) over sockets that are connected already. Every
 * exception ends here and becomes an error of ours. */
#include <gloo/allgatherv.h>
#include <gloo/allreduce.h>
#include <gloo/alltoallv.h>
#include <gloo/broadcast.h>
#include <gloo/common/error.h>
#include <gloo/config.h>
#include <gloo/context.h>
#include <gloo/math.h>
#include <gloo/transport/tcp/address.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/tcp/loop.h>

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

extern "C" {
#include "base/thread.h"
#include "trainer/comm/library.h"
}

namespace
{

using std::chrono::milliseconds;
namespace tcp = gloo::transport::tcp;

/* Slots of our own messages; those of gloo's collectives begin with a byte that counts kinds from 1. */
const uint64_t ALARM_SLOT = 0xa1, PROBE_SLOT = 0xa2;

const milliseconds GRACE(500);       /* for an operation to notice a broken connection by itself */
const milliseconds CLOSE_TIME(5000); /* within which all processes close */
const milliseconds ADOPT_TIME(2000); /* for a connection inside this process */

struct connections {
    uint32_t rank, size;
    milliseconds timeout;
    std::unique_ptr<tcp::Handler> pause; /* outlives gloo's thread, which may be inside it */
    std::shared_ptr<gloo::Context> context;
    std::shared_ptr<gloo::transport::Context> transport; /* gloo's own, which ours wraps */
    uint32_t tag; /* of the next operation, so that messages of different operations never mix */

    char nothing;
    std::unique_ptr<gloo::transport::UnboundBuffer> alarm; /* receives from every other process what never comes */
    pthread_t watcher;                                     /* waits until the alarm fails: a connection broke */

    std::mutex lock; /* guards all below */
    std::condition_variable changed;
    std::set<gloo::transport::UnboundBuffer *> buffers; /* of the operation under way */
    bool broken;                                        /* aborted: results of operations are void */
    int lost; /* the process whose connection the watcher saw break; -1: none */
    bool closing;
};

/* Posts a receive from each process: gloo throws where the connection is closed. -1: all are open. */
int lost_peer(connections &all)
{
    char nothing;
    auto probe = all.transport->createUnboundBuffer(&nothing, 1);
    for (uint32_t i = 0; i < all.size; i++) {
        try {
            if (i != all.rank)
                probe->recv(static_cast<int>(i), PROBE_SLOT, 0, 1);
        } catch (const std::exception &) {
            return static_cast<int>(i);
        }
    }
    return -1;
}

/* gloo's message without its source line, and without the address, which is not that of the other process. */
std::string words_of(std::string message)
{
    const size_t line = message.find("] ");
    if (line != std::string::npos)
        message.erase(0, line + 2);
    const size_t address = message.find(" ["), end = message.find("]:", address);
    if (address != std::string::npos && end != std::string::npos)
        message.erase(address, message.find_first_not_of("0123456789", end + 2) - address);
    return message;
}

int fail_lost(connections &all, const std::string &message, struct error *err)
{
    const std::string text = words_of(message);
    const char *words = text.c_str();
    std::unique_lock<std::mutex> hold(all.lock);
    const bool broken = all.broken;
    int peer = all.lost;
    hold.unlock();
    if (!broken && (message.find("Timed out") != std::string::npos || message.find("timeout") != std::string::npos))
        return fail(err, ERR_PEER, "nothing came from the other processes for %g s (gloo)",
                    static_cast<double>(all.timeout.count()) / 1000);
    if (!broken && all.alarm)
        peer = lost_peer(all);
    if (peer >= 0)
        return fail(err, ERR_PEER, "the connection to process %d of %u was lost (gloo: %s)", peer, all.size, words);
    return fail(err, ERR_PEER, "a connection to another process was lost (gloo: %s)", words);
}

/* Runs `call`; what it throws becomes *err. */
template <typename call_type> int guarded(connections &all, struct error *err, call_type call)
{
    try {
        call();
        return 0;
    } catch (const std::exception &failure) {
        return fail_lost(all, failure.what(), err);
    } catch (...) {
        return fail_lost(all, "an exception of no type", err);
    }
}

/* gloo's buffer; an abort ends its waits, which then throw. */
class buffer : public gloo::transport::UnboundBuffer
{
  public:
    buffer(connections &all, std::unique_ptr<gloo::transport::UnboundBuffer> own)
        : UnboundBuffer(own->ptr, own->size), all_(all), own_(std::move(own))
    {
        std::unique_lock<std::mutex> hold(all_.lock);
        if (all_.broken)
            given_up();
        all_.buffers.insert(own_.get());
    }
    ~buffer() override
    {
        std::unique_lock<std::mutex> hold(all_.lock);
        all_.buffers.erase(own_.get());
    }

    bool waitRecv(int *rank, milliseconds timeout) override
    {
        return own_->waitRecv(rank, timeout) || given_up();
    }
    bool waitSend(int *rank, milliseconds timeout) override
    {
        return own_->waitSend(rank, timeout) || given_up();
    }
    void abortWaitRecv() override
    {
        own_->abortWaitRecv();
    }
    void abortWaitSend() override
    {
        own_->abortWaitSend();
    }
    void send(int to, uint64_t slot, size_t offset, size_t bytes) override
    {
        own_->send(to, slot, offset, bytes);
    }
    void recv(int from, uint64_t slot, size_t offset, size_t bytes) override
    {
        own_->recv(from, slot, offset, bytes);
    }
    void recv(std::vector<int> from, uint64_t slot, size_t offset, size_t bytes) override
    {
        own_->recv(std::move(from), slot, offset, bytes);
    }

  private:
    connections &all_;
    const std::unique_ptr<gloo::transport::UnboundBuffer> own_;

    static bool given_up()
    {
        throw gloo::IoException("given up");
    }
};

/* gloo's connections, with such buffers. */
class transport : public gloo::transport::Context
{
  public:
    explicit transport(connections &all) : Context(all.transport->rank, all.transport->size), all_(all)
    {
    }
    std::unique_ptr<gloo::transport::Pair> &getPair(int peer) override
    {
        return all_.transport->getPair(peer);
    }
    std::unique_ptr<gloo::transport::Pair> &createPair(int peer) override
    {
        return all_.transport->createPair(peer);
    }
    std::unique_ptr<gloo::transport::UnboundBuffer> createUnboundBuffer(void *memory, size_t bytes) override
    {
        return std::make_unique<buffer>(all_, all_.transport->createUnboundBuffer(memory, bytes));
    }

  private:
    connections &all_;
};

/* Holds the thread that serves the sockets of a device, until end(). */
class loop_pause : public tcp::Handler
{
  public:
    explicit loop_pause(tcp::Device &device) : wake_(eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK))
    {
        device.registerDescriptor(wake_, EPOLLIN, this);
        std::unique_lock<std::mutex> hold(lock_);
        changed_.wait(hold, [&] { return held_; });
    }
    ~loop_pause() override
    {
        close(wake_);
    }
    void end()
    {
        std::unique_lock<std::mutex> hold(lock_);
        ended_ = true;
        changed_.notify_all();
    }
    void handleEvents(int) override
    {
        eventfd_t count;
        eventfd_read(wake_, &count);
        std::unique_lock<std::mutex> hold(lock_);
        held_ = true;
        changed_.notify_all();
        changed_.wait(hold, [&] { return ended_; });
    }

  private:
    const int wake_;
    std::mutex lock_;
    std::condition_variable changed_;
    bool held_ = false, ended_ = false;
};

/* The descriptor of this process whose near end (getsockname) or far end (getpeername) is at an IPv4 address. */
int descriptor_at(decltype(getsockname) *end_of, const tcp::Address &address)
{
    const auto &wanted = reinterpret_cast<const sockaddr_in &>(address.getSockaddr());
    for (const auto &entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        const int fd = std::stoi(entry.path().filename());
        sockaddr_in at{};
        socklen_t size = sizeof at;
        if (end_of(fd, reinterpret_cast<sockaddr *>(&at), &size) == 0 && at.sin_family == AF_INET &&
            at.sin_port == wanted.sin_port && at.sin_addr.s_addr == wanted.sin_addr.s_addr)
            return fd;
    }
    throw gloo::IoException("a socket of gloo is not found");
}

/* A port of this process, to which nobody needs to be admitted. */
class dummy_listener
{
  public:
    dummy_listener() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))
    {
        sockaddr_in at{};
        socklen_t size = sizeof at;
        at.sin_family = AF_INET;
        at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        auto *generic = reinterpret_cast<sockaddr *>(&at);
        if (bind(fd_, generic, size) < 0 || listen(fd_, SOMAXCONN) < 0 || getsockname(fd_, generic, &size) < 0)
            throw gloo::IoException("this machine's loopback address takes no connections");
        address_ = tcp::Address(generic, size);
    }
    ~dummy_listener()
    {
        close(fd_);
    }
    const tcp::Address &address() const
    {
        return address_;
    }

  private:
    const int fd_;
    tcp::Address address_;
};

/* Above the address of dummy_listener: of two addresses gloo connects from the greater one. */
const char *const PAIR_ADDRESS = "127.0.0.2";

/* The context that the collectives are given.
 *
 * gloo cannot be given a socket. Its pairs listen, and take the first connection that comes: the process at its other
 * end could be anybody's, and bytes that are not gloo's end the program. So the listeners are closed before they take
 * anything, each pair connects to a port of this process, and its descriptor then becomes that of our socket. */
class context : public gloo::Context
{
  public:
    using gloo::Context::Context;

    void adopt(connections &all, const int *sockets)
    {
        auto device = std::dynamic_pointer_cast<tcp::Device>(tcp::CreateDevice(tcp::attr(PAIR_ADDRESS)));
        device_ = device;
        all.transport = device->createContext(rank, size);
        all.transport->setTimeout(ADOPT_TIME);
        create_deaf_pairs(all, *device);
        const dummy_listener listener;
        for (int i = 0; i < size; i++)
            if (i != rank)
                adopt(*all.transport->getPair(i), sockets[i], listener, *device);
        all.transport->setTimeout(all.timeout);
        transportContext_ = std::make_shared<transport>(all);
    }

  private:
    static tcp::Handler *handler_of(gloo::transport::Pair &pair)
    {
        return dynamic_cast<tcp::Handler *>(&pair);
    }

    void create_deaf_pairs(connections &all, tcp::Device &device)
    {
        auto held = std::make_unique<loop_pause>(device);
        const std::unique_ptr<loop_pause, void (*)(loop_pause *)> until_done(held.get(),
                                                                             [](loop_pause *one) { one->end(); });
        all.pause = std::move(held);
        for (int i = 0; i < size; i++)
            if (i != rank) {
                auto &pair = *all.transport->createPair(i);
                const tcp::Address listens(pair.address().bytes());
                device.registerDescriptor(descriptor_at(getsockname, listens), 0, handler_of(pair));
            }
    }

    static void adopt(gloo::transport::Pair &pair, int socket, const dummy_listener &listener, tcp::Device &device)
    {
        pair.connect(listener.address().bytes());
        const int fd = descriptor_at(getpeername, listener.address());
        if (dup3(socket, fd, O_CLOEXEC) < 0)
            throw gloo::IoException("a socket cannot be passed to gloo");
        device.registerDescriptor(fd, EPOLLIN, handler_of(pair));
    }
};

/* A wait that times out makes gloo close all connections and fail what waits for one; gloo has no other call for that.
 * Where gloo's own write is the first to meet a broken connection, gloo forgets the message, and only the timeout or
 * abortWait ends the wait for it. */
void gloo_abort(void *opened)
{
    auto &all = *static_cast<connections *>(opened);
    std::unique_lock<std::mutex> hold(all.lock);
    all.broken = true;
    hold.unlock();
    try {
        char nothing;
        all.transport->createUnboundBuffer(&nothing, 1)->waitRecv(milliseconds(1));
    } catch (const std::exception &) { /* expected */
    }
    hold.lock();
    while (!all.buffers.empty()) {
        for (auto *waits : all.buffers) {
            waits->abortWaitSend();
            waits->abortWaitRecv();
        }
        hold.unlock();
        std::this_thread::sleep_for(milliseconds(5));
        hold.lock();
    }
}

/* Aborts when a connection breaks and the operation under way does not notice it by itself within GRACE. */
void *watch(void *opened)
{
    auto &all = *static_cast<connections *>(opened);
    try {
        all.alarm->waitRecv(std::chrono::hours(24 * 365));
    } catch (const std::exception &) {
        const int lost = lost_peer(all);
        std::unique_lock<std::mutex> hold(all.lock);
        if (all.changed.wait_for(hold, GRACE, [&] { return all.closing; }))
            return nullptr;
        all.lost = lost;
        hold.unlock();
        gloo_abort(opened);
    }
    return nullptr;
}

void watch_begin(connections &all)
{
    all.alarm = all.transport->createUnboundBuffer(&all.nothing, 1);
    for (uint32_t i = 0; i < all.size; i++)
        if (i != all.rank)
            all.alarm->recv(static_cast<int>(i), ALARM_SLOT, 0, 1);
    if (thread_start(&all.watcher, watch, &all) != 0)
        die(ERR_RESOURCE, "cannot create a thread");
}

void watch_end(connections &all)
{
    std::unique_lock<std::mutex> hold(all.lock);
    all.closing = true;
    all.changed.notify_all();
    hold.unlock();
    all.alarm->abortWaitRecv();
    pthread_join(all.watcher, nullptr);
}

void connect(connections &all, const int *sockets)
{
    auto made = std::make_shared<context>(static_cast<int>(all.rank), static_cast<int>(all.size));
    all.context = made;
    made->setTimeout(all.timeout);
    made->adopt(all, sockets);
}

const char *gloo_version()
{
    static const std::string text = "gloo " + std::to_string(GLOO_VERSION_MAJOR) + "." +
                                    std::to_string(GLOO_VERSION_MINOR) + "." + std::to_string(GLOO_VERSION_PATCH);
    return text.c_str();
}

void *gloo_open(const struct comm_options *options, struct error *err)
{
    auto *all = new connections{};
    all->rank = options->rank;
    all->size = options->size;
    all->timeout = milliseconds(static_cast<int64_t>(options->timeout * 1000));
    all->lost = -1;
    try {
        connect(*all, options->sockets);
        watch_begin(*all);
    } catch (const std::exception &failure) {
        fail(err, ERR_RESOURCE, "gloo cannot be set up: %s", words_of(failure.what()).c_str());
        delete all;
        all = nullptr;
    }
    for (uint32_t i = 0; i < options->size; i++) /* gloo has descriptors of its own for them */
        if (options->sockets[i] >= 0)
            close(options->sockets[i]);
    return all;
}

/* Uses the ring, whose bytes comm_wire_bytes counts; gloo's default for small arrays could change. */
template <typename number>
void reduce(connections &all, enum comm_operation operation, void *data, size_t count, milliseconds timeout)
{
    void (*const sum)(void *, const void *, const void *, size_t) = &gloo::sum<number>;
    void (*const max)(void *, const void *, const void *, size_t) = &gloo::max<number>;
    gloo::AllreduceOptions options(all.context);
    options.setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
    options.setOutput(static_cast<number *>(data), count);
    options.setReduceFunction(operation == COMM_SUM ? sum : max);
    options.setTag(all.tag++);
    options.setTimeout(timeout);
    gloo::allreduce(options);
}

/* A barrier: no process has the sum before all have come. */
int rendezvous(connections &all, milliseconds timeout, struct error *err)
{
    int64_t number = 0;
    return guarded(all, err, [&] { reduce<int64_t>(all, COMM_SUM, &number, 1, timeout); });
}

/* Waits for the others first: a process that closed its connections while another still computes would make it fail. */
void gloo_close(void *opened, bool well)
{
    auto *all = static_cast<connections *>(opened);
    struct error ignored;
    if (well)
        rendezvous(*all, CLOSE_TIME, &ignored);
    watch_end(*all);
    delete all;
}

int gloo_barrier(void *opened, struct error *err)
{
    auto &all = *static_cast<connections *>(opened);
    return rendezvous(all, all.timeout, err);
}

int gloo_reduce(void *opened, enum comm_operation operation, enum comm_type type, void *data, size_t count,
                struct error *err)
{
    auto &all = *static_cast<connections *>(opened);
    return guarded(all, err, [&] {
        if (type == COMM_FLOAT)
            reduce<float>(all, operation, data, count, all.timeout);
        else if (type == COMM_DOUBLE)
            reduce<double>(all, operation, data, count, all.timeout);
        else
            reduce<int64_t>(all, operation, data, count, all.timeout);
    });
}

int gloo_broadcast(void *opened, uint32_t root, void *data, size_t bytes, struct error *err)
{
    auto &all = *static_cast<connections *>(opened);
    return guarded(all, err, [&] {
        gloo::BroadcastOptions options(all.context);
        options.setOutput(static_cast<char *>(data), bytes);
        options.setRoot(static_cast<int>(root));
        options.setTag(all.tag++);
        gloo::broadcast(options);
    });
}

int gloo_gather(void *opened, void *out, const size_t *sizes, struct error *err)
{
    auto &all = *static_cast<connections *>(opened);
    return guarded(all, err, [&] {
        gloo::AllgathervOptions options(all.context);
        options.setOutput(static_cast<char *>(out), std::vector<size_t>(sizes, sizes + all.size));
        options.setTag(all.tag++);
        gloo::allgatherv(options);
    });
}

int gloo_exchange(void *opened, const void *in, const size_t *in_sizes, void *out, const size_t *out_sizes,
                  struct error *err)
{
    auto &all = *static_cast<connections *>(opened);
    return guarded(all, err, [&] {
        const std::vector<int64_t> in_counts(in_sizes, in_sizes + all.size);
        const std::vector<int64_t> out_counts(out_sizes, out_sizes + all.size);
        gloo::AlltoallvOptions options(all.context);
        options.setInput(static_cast<char *>(const_cast<void *>(in)), in_counts);
        options.setOutput(static_cast<char *>(out), out_counts);
        options.setTag(all.tag++);
        gloo::alltoallv(options);
    });
}

} // namespace

const struct comm_library dstrain_comm = {
    .interface = COMM_INTERFACE,
    .waits = true,
    .sockets = true,
    .version = gloo_version,
    .shares_gpu = nullptr,
    .open = gloo_open,
    .barrier = gloo_barrier,
    .reduce = gloo_reduce,
    .reduce_device = nullptr,
    .broadcast = gloo_broadcast,
    .gather = gloo_gather,
    .exchange = gloo_exchange,
    .abort = gloo_abort,
    .close = gloo_close,
};
