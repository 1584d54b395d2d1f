/* dstrain_gloo.so. In: blocking calls of library.h. Out: gloo's collectives over TCP (gloo 0.5 of 2022 and later). Every
 * exception ends here and becomes an error of ours. */
#include <gloo/allgatherv.h>
#include <gloo/allreduce.h>
#include <gloo/alltoallv.h>
#include <gloo/broadcast.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/transport/tcp/device.h>

#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <numeric>
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

/* Names of messages that gloo's collectives do not use: theirs begin with a byte that counts kinds from 1. */
const uint64_t ALARM_SLOT = 0xa1, PROBE_SLOT = 0xa2;

const milliseconds GRACE(500);       /* for an operation that learns by itself */
const milliseconds CLOSE_TIME(5000); /* in which all processes close */

/* An error that the store reported, on its way through gloo. */
struct store_failure {
    struct error err;
};

/* gloo's table of names, over the caller's. */
class named_values : public gloo::rendezvous::Store
{
  public:
    named_values(const struct comm_store &store, milliseconds timeout) : store_(store), timeout_(timeout)
    {
    }

    void set(const std::string &key, const std::vector<char> &data) override
    {
        store_failure failure;
        if (store_.set(store_.context, name(key).c_str(), data.data(), data.size(), &failure.err) < 0)
            throw failure;
    }

    std::vector<char> get(const std::string &key) override
    {
        return get(key, timeout_);
    }

    void wait(const std::vector<std::string> &keys) override
    {
        wait(keys, timeout_);
    }

    void wait(const std::vector<std::string> &keys, const milliseconds &timeout) override
    {
        for (const std::string &key : keys)
            get(key, timeout);
    }

  private:
    const struct comm_store store_;
    const milliseconds timeout_;

    static std::string name(const std::string &key)
    {
        return "gloo/" + key;
    }

    std::vector<char> get(const std::string &key, milliseconds timeout)
    {
        store_failure failure;
        std::vector<char> value(4096);
        for (;;) {
            const double seconds = std::chrono::duration<double>(timeout).count();
            const long size =
                store_.get(store_.context, name(key).c_str(), value.data(), value.size(), seconds, &failure.err);
            if (size < 0)
                throw failure;
            const bool whole = static_cast<size_t>(size) <= value.size();
            value.resize(static_cast<size_t>(size));
            if (whole)
                return value;
        }
    }
};

struct connections {
    uint32_t rank, size;
    milliseconds timeout;
    std::shared_ptr<gloo::rendezvous::Context> context;
    uint32_t tag; /* of the next operation: a message never meets another operation's */

    char nothing;
    std::unique_ptr<gloo::transport::UnboundBuffer> alarm; /* a message from every other process, which never comes */
    pthread_t watcher;                                     /* waits for it */

    std::mutex lock; /* of all below */
    std::condition_variable changed;
    gloo::transport::UnboundBuffer *sending; /* what an operation under way sends from, or nullptr */
    bool broken;                             /* given up: what an operation returns is void */
    int lost;                                /* the process whose connection broke, where the watcher saw it; -1 */
    bool closing;
};

/* Asking for a message throws where the connection is closed. -1: all are open. */
int lost_peer(connections &all)
{
    char nothing;
    auto buffer = all.context->createUnboundBuffer(&nothing, 1);
    for (uint32_t i = 0; i < all.size; i++) {
        try {
            if (i != all.rank)
                buffer->recv(static_cast<int>(i), PROBE_SLOT, 0, 1);
        } catch (const std::exception &) {
            return static_cast<int>(i);
        }
    }
    return -1;
}

int fail_lost(connections &all, const char *what, struct error *err)
{
    const std::string message(what);
    const size_t place = message.find("] "); /* behind the file and line in gloo */
    const char *words = place == std::string::npos ? what : what + place + 2;
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
        std::unique_lock<std::mutex> hold(all.lock);
        if (!all.broken)
            return 0;
        hold.unlock();
        return fail_lost(all, "given up", err);
    } catch (const store_failure &failure) {
        *err = failure.err;
        return -1;
    } catch (const std::exception &failure) {
        return fail_lost(all, failure.what(), err);
    } catch (...) {
        return fail_lost(all, "an exception of no type", err);
    }
}

/* While it lives, an abort can end the waits for what this buffer sends. */
class under_way
{
  public:
    under_way(connections &all, gloo::transport::UnboundBuffer *buffer) : all_(all)
    {
        std::unique_lock<std::mutex> hold(all_.lock);
        all_.sending = buffer;
    }
    ~under_way()
    {
        std::unique_lock<std::mutex> hold(all_.lock);
        all_.sending = nullptr;
    }
    under_way(const under_way &) = delete;

  private:
    connections &all_;
};

/* A wait that times out makes gloo close all connections, and fail what waits for one; there is no other call for it.
 * Where gloo's own write is the first to meet a broken connection, it forgets that message: nothing but its timeout or
 * this would end the wait for it. */
void gloo_abort(void *opened)
{
    auto &all = *static_cast<connections *>(opened);
    std::unique_lock<std::mutex> hold(all.lock);
    all.broken = true;
    hold.unlock();
    try {
        char nothing;
        all.context->createUnboundBuffer(&nothing, 1)->waitRecv(milliseconds(1));
    } catch (const std::exception &) { /* that is how it ends */
    }
    hold.lock();
    while (all.sending) {
        all.sending->abortWaitSend();
        hold.unlock();
        std::this_thread::sleep_for(milliseconds(5));
        hold.lock();
    }
}

/* A connection breaks, and the operation under way did not learn of it by itself. */
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
    all.alarm = all.context->createUnboundBuffer(&all.nothing, 1);
    for (uint32_t i = 0; i < all.size; i++)
        if (i != all.rank)
            all.alarm->recv(static_cast<int>(i), ALARM_SLOT, 0, 1);
    if (thread_start(&all.watcher, watch, &all) != 0)
        die(ERR_RESOURCE, "no further thread can be made");
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

void connect(connections &all, const struct comm_options &options)
{
    all.context = std::make_shared<gloo::rendezvous::Context>(static_cast<int>(all.rank), static_cast<int>(all.size));
    all.context->setTimeout(all.timeout);
    auto device = gloo::transport::tcp::CreateDevice(gloo::transport::tcp::attr(options.address));
    named_values store(options.store, all.timeout);
    all.context->connectFullMesh(store, device);
}

void *gloo_open(const struct comm_options *options, struct error *err)
{
    auto *all = new connections{};
    all->rank = options->rank;
    all->size = options->size;
    all->timeout = milliseconds(static_cast<int64_t>(options->timeout * 1000));
    all->lost = -1;
    const auto open = [&] {
        connect(*all, *options);
        watch_begin(*all);
    };
    if (guarded(*all, err, open) == 0)
        return all;
    delete all;
    return nullptr;
}

/* Round a ring, which comm_wire_bytes counts; gloo's default for what is small could change. */
template <typename number>
void reduce(connections &all, enum comm_operation operation, void *data, size_t count, milliseconds timeout)
{
    void (*const sum)(void *, const void *, const void *, size_t) = &gloo::sum<number>;
    void (*const max)(void *, const void *, const void *, size_t) = &gloo::max<number>;
    auto buffer = all.context->createUnboundBuffer(data, count * sizeof(number));
    auto *const sent = buffer.get();
    gloo::AllreduceOptions options(all.context);
    options.setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
    options.setOutput<number>(std::move(buffer));
    options.setReduceFunction(operation == COMM_SUM ? sum : max);
    options.setTag(all.tag++);
    options.setTimeout(timeout);
    const under_way now(all, sent);
    gloo::allreduce(options);
}

/* A sum, which nobody has before all have come. */
int meet(connections &all, milliseconds timeout, struct error *err)
{
    int64_t number = 0;
    return guarded(all, err, [&] { reduce<int64_t>(all, COMM_SUM, &number, 1, timeout); });
}

/* A process that closed its connections while another still computes would fail it. */
void gloo_close(void *opened, bool well)
{
    auto *all = static_cast<connections *>(opened);
    struct error ignored;
    if (well)
        meet(*all, CLOSE_TIME, &ignored);
    watch_end(*all);
    delete all;
}

int gloo_barrier(void *opened, struct error *err)
{
    auto &all = *static_cast<connections *>(opened);
    return meet(all, all.timeout, err);
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
        auto buffer = all.context->createUnboundBuffer(data, bytes);
        auto *const sent = buffer.get();
        gloo::BroadcastOptions options(all.context);
        options.setOutput<char>(std::move(buffer));
        options.setRoot(static_cast<int>(root));
        options.setTag(all.tag++);
        const under_way now(all, sent);
        gloo::broadcast(options);
    });
}

int gloo_gather(void *opened, void *out, const size_t *sizes, struct error *err)
{
    auto &all = *static_cast<connections *>(opened);
    return guarded(all, err, [&] {
        const std::vector<size_t> counts(sizes, sizes + all.size);
        auto buffer = all.context->createUnboundBuffer(out, std::accumulate(counts.begin(), counts.end(), size_t{0}));
        auto *const sent = buffer.get();
        gloo::AllgathervOptions options(all.context);
        options.setOutput<char>(std::move(buffer), counts);
        options.setTag(all.tag++);
        const under_way now(all, sent);
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
        auto buffer = all.context->createUnboundBuffer(const_cast<void *>(in),
                                                       std::accumulate(in_sizes, in_sizes + all.size, size_t{0}));
        auto *const sent = buffer.get();
        gloo::AlltoallvOptions options(all.context);
        options.setInput<char>(std::move(buffer), in_counts);
        options.setOutput(static_cast<char *>(out), out_counts);
        options.setTag(all.tag++);
        const under_way now(all, sent);
        gloo::alltoallv(options);
    });
}

} // namespace

const struct comm_library dstrain_comm = {
    .interface = COMM_INTERFACE,
    .waits = true,
    .open = gloo_open,
    .barrier = gloo_barrier,
    .reduce = gloo_reduce,
    .broadcast = gloo_broadcast,
    .gather = gloo_gather,
    .exchange = gloo_exchange,
    .abort = gloo_abort,
    .close = gloo_close,
};
