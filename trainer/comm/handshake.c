/* Pure, but for the nonces. */
#include "trainer/comm/handshake.h"

#include "base/mem.h"

#include <assert.h>
#include <stdio.h>
#include <sys/random.h>

void nonce_make(unsigned char nonce[NONCE_BYTES])
{
    while (getrandom(nonce, NONCE_BYTES, 0) != NONCE_BYTES) /* it may be interrupted only while the machine starts */
        continue;
}

void hello_make(struct hello *hello)
{
    *hello = (struct hello){.magic = RENDEZVOUS_MAGIC, .protocol = RENDEZVOUS_PROTOCOL};
    nonce_make(hello->nonce);
}

uint32_t hello_read(struct str bytes, struct hello *hello)
{
    uint32_t protocol = 0;
    if (bytes.size < offsetof(struct hello, zero) || memcmp(bytes.data, RENDEZVOUS_MAGIC, sizeof hello->magic) != 0)
        return 0;
    memcpy(&protocol, bytes.data + offsetof(struct hello, protocol), sizeof protocol);
    if (protocol != RENDEZVOUS_PROTOCOL)
        return protocol;
    if (bytes.size != sizeof *hello)
        return 0;
    memcpy(hello, bytes.data, sizeof *hello);
    return protocol;
}

static void direction_key(const struct job_key *key, const char *label, const struct hello *hello,
                          const struct hello *challenge, unsigned char out[HMAC_BYTES])
{
    SCOPED(buf_release) struct buf message = {0};
    buf_add_text(&message, label);
    buf_add(&message, hello, sizeof *hello);
    buf_add(&message, challenge, sizeof *challenge);
    hmac_sha256((struct str){(const char *)key->bytes, sizeof key->bytes}, buf_str(&message), out);
}

void handshake_seal(struct line *line, const struct job_key *key, const struct hello *hello,
                    const struct hello *challenge, bool is_first)
{
    unsigned char to_first[HMAC_BYTES], to_worker[HMAC_BYTES];
    direction_key(key, "dstrain meeting 2, member to rank 0", hello, challenge, to_first);
    direction_key(key, "dstrain meeting 2, rank 0 to member", hello, challenge, to_worker);
    line_seal(&line->seal_in, is_first ? to_first : to_worker);
    line_seal(&line->seal_out, is_first ? to_worker : to_first);
}

static bool read_all(struct str bytes, void *out, size_t size)
{
    if (bytes.size != size)
        return false;
    memcpy(out, bytes.data, size);
    return true;
}

bool join_read(struct str bytes, struct join *join)
{
    if (!read_all(bytes, join, sizeof *join))
        return false;
    join->host[HOST_TEXT - 1] = join->run[RUN_TEXT - 1] = '\0';
    return true;
}

bool welcome_read(struct str bytes, struct welcome *welcome)
{
    if (!read_all(bytes, welcome, sizeof *welcome))
        return false;
    welcome->host[HOST_TEXT - 1] = '\0';
    return true;
}

bool refusal_read(struct str bytes, struct refusal *refusal)
{
    if (!read_all(bytes, refusal, sizeof *refusal))
        return false;
    refusal->host[HOST_TEXT - 1] = refusal->run[RUN_TEXT - 1] = '\0';
    return true;
}

enum misfit away_read(struct str bytes, struct away *away)
{
    if (!read_all(bytes, away, sizeof *away) || memcmp(away->magic, RENDEZVOUS_MAGIC, sizeof away->magic) != 0 ||
        away->misfit > MISFIT_USER)
        return MISFIT_NONE;
    return (enum misfit)away->misfit;
}

enum misfit join_check(const struct join *join, uint32_t size, const char *run, struct refusal *refusal)
{
    refusal->size = size;
    snprintf(refusal->run, sizeof refusal->run, "%s", run);
    refusal->misfit = strcmp(join->run, refusal->run) != 0 ? MISFIT_RUN
                      : join->size != size                 ? MISFIT_SIZE
                      : join->rank >= size                 ? MISFIT_RANK
                                                           : MISFIT_NONE;
    return (enum misfit)refusal->misfit;
}

static const char *const reasons[MISFITS] = {
    [MISFIT_PROTOCOL] = "it is another version of dstrain",
    [MISFIT_KEY] = "it does not have this job's key",
    [MISFIT_USER] = "it belongs to another user",
    [MISFIT_SPEECH] = "it is not a process of dstrain",
    [MISFIT_SILENCE] = "it said nothing",
    [MISFIT_CROWD] = "it was one connection too many",
};

/* A name of a run that may be "". */
static const char *run_name(const char *run)
{
    return run[0] ? run : "a run started by hand";
}

/* The process that has the rank. */
static char *holder_text(const struct join *join, const struct refusal *refusal, char text[PEER_TEXT])
{
    struct peer holder = {.rank = join->rank, .pid = refusal->pid};
    memcpy(holder.host, refusal->host, sizeof holder.host);
    return peer_text(&holder, text);
}

char *misfit_text(enum misfit misfit, const struct join *join, const struct refusal *refusal, char text[MISFIT_TEXT])
{
    char name[PEER_TEXT];
    assert(misfit < MISFITS);
    if (misfit == MISFIT_RUN)
        snprintf(text, MISFIT_TEXT, "it is of another run: %s, not %s", run_name(join->run), run_name(refusal->run));
    else if (misfit == MISFIT_SIZE)
        snprintf(text, MISFIT_TEXT, "it is one of %u processes, not of %u", join->size, refusal->size);
    else if (misfit == MISFIT_RANK && join->rank < refusal->size)
        snprintf(text, MISFIT_TEXT, "it has a rank that is taken by %s", holder_text(join, refusal, name));
    else if (misfit == MISFIT_RANK)
        snprintf(text, MISFIT_TEXT, "it has rank %u, and there are only %u processes", join->rank, refusal->size);
    else
        snprintf(text, MISFIT_TEXT, "%s", reasons[misfit]);
    return text;
}

int away_fail(const struct away *away, const char *where, bool has_key, struct error *err)
{
    if (away->misfit == MISFIT_PROTOCOL) {
        fail(err, ERR_MISMATCH, "program versions differ: rank 0 at %.200s speaks protocol %u, this process %u", where,
             away->protocol, RENDEZVOUS_PROTOCOL);
        return hint(err, "all processes of a run need the same program");
    }
    if (away->misfit == MISFIT_USER) {
        fail(err, ERR_MISMATCH, "the process at %.200s belongs to another user, and the run has no key", where);
        return hint(err, "give another port, or a key to all processes: DS_KEY or --key FILE");
    }
    fail(err, ERR_MISMATCH, "rank 0 at %.200s has %s", where,
         has_key ? "another key, or none" : "a key, and this process has none");
    return hint(err,
                "give all processes of the run the same DS_KEY or --key FILE; if it is another run, give another port");
}

int refusal_fail(const struct refusal *refusal, const struct join *join, const char *where, struct error *err)
{
    char name[PEER_TEXT];
    if (refusal->misfit == MISFIT_RUN) {
        fail(err, ERR_MISMATCH, "another run meets at %.120s: %.120s; this process is of %.120s", where,
             run_name(refusal->run), run_name(join->run));
        return hint(err, "give another port, or another FILE");
    }
    if (refusal->misfit == MISFIT_SIZE) {
        fail(err, ERR_MISMATCH, "the number of processes differs: %u on rank 0 at %.120s, %u on rank %u (%s)",
             refusal->size, where, join->size, join->rank, join->host);
        return hint(err, "if another run meets there, give another port");
    }
    fail(err, ERR_USAGE, "rank %u was given twice: to %s, and to this process", join->rank,
         holder_text(join, refusal, name));
    return hint(err, "each process needs a --rank of its own, from 0 to %u", join->size - 1);
}
