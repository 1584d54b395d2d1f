/* How a worker and rank 0 prove to each other that they have the same key, and what they say of themselves.
 *
 *     worker                       rank 0
 *     HELLO      nonce      ──►                 a stranger: nothing it says is believed or printed
 *                           ◄──    CHALLENGE    nonce
 *     JOIN, sealed          ──►                 the worker is proven: who it is, and of which run
 *                           ◄──    WELCOME, sealed: rank 0 is proven   or REFUSAL, sealed   or AWAY, not sealed
 *
 * Both nonces are 32 random bytes, made for this connection. Each direction has a key of its own (line.h says how it
 * seals frames):
 *
 *     key of a direction = HMAC-SHA-256(job key, label of the direction | HELLO | CHALLENGE)
 *
 * HMAC is RFC 2104, SHA-256 FIPS 180-4. So a seal proves the job key, and that the sender saw both nonces:
 *
 * - A message of another connection, also of the same rendezvous, has the seal of other nonces: replay fails.
 * - A message sent back to its sender has the seal of the other direction: reflection fails.
 * - The worker proves first. Rank 0 seals nothing before that, and neither side ever seals with the other's key, so
 *   neither can be used to answer for the other.
 * - Who passes on all messages between both can end the line, and read them. It cannot alter one.
 * - A key with less than 128 random bits could be guessed from a recorded handshake (base/job_key.h asks for 128).
 *
 * Without a job key its bytes are zero. The same messages are then sent, and prove nothing. */
#pragma once

#include "base/job_key.h"
#include "trainer/comm/failure_detector.h"
#include "trainer/comm/line.h"

#define RENDEZVOUS_MAGIC    "dsmeet\r\n"
#define RENDEZVOUS_PROTOCOL 2u /* rises when a frame changes; kinds 1 and 2 stay what they are */
#define NONCE_BYTES         32
#define RUN_TEXT            128 /* bytes of the name of a run */
#define HELLO_MAX           256u

enum frame_kind {
    FRAME_HELLO = 1, /* struct hello. Not sealed, like the next two */
    FRAME_AWAY,      /* struct away */
    FRAME_CHALLENGE, /* struct hello */
    FRAME_JOIN,      /* struct join */
    FRAME_WELCOME,   /* struct welcome */
    FRAME_REFUSAL,   /* struct refusal */
    FRAME_BEGIN,     /* from here on: rendezvous_parts.h */
    FRAME_REPORT,
    FRAME_SET,
    FRAME_GET,
    FRAME_VALUE,
    FRAME_BLOCK,
    FRAME_BLOCKS,
    FRAME_STOP,
    FRAME_FAILED,
    FRAME_ABORT,
    FRAME_BYE,
};

/* Why a process does not belong here. The first ones are all that one learns that has not proven the key. */
enum misfit {
    MISFIT_NONE,
    MISFIT_PROTOCOL, /* another version of this program */
    MISFIT_KEY,
    MISFIT_USER, /* a process of another user of this machine */
    MISFIT_RUN,
    MISFIT_SIZE,
    MISFIT_RANK,   /* it is taken, or there is none of this number */
    MISFIT_SPEECH, /* not a process of a run: this and the next are only logged */
    MISFIT_SILENCE,
    MISFIT_CROWD,
    MISFITS,
};

/* The first 12 bytes are the same in every protocol. */
struct hello {
    char magic[8];
    uint32_t protocol, zero;
    unsigned char nonce[NONCE_BYTES];
};
_Static_assert(sizeof(struct hello) == 48, "a hello's bytes travel");

struct away {
    char magic[8];
    uint32_t protocol, misfit;
};

/* `run` names the run, as far as it is known before the options are compared (rendezvous_options). */
struct join {
    uint32_t rank, size, pid, zero;
    char host[HOST_TEXT], run[RUN_TEXT];
};

struct welcome {
    uint32_t pid, zero;
    unsigned char nonce[NONCE_BYTES]; /* of the rendezvous, for rendezvous_secret */
    char host[HOST_TEXT];
};

/* What differs: rank 0's values. With MISFIT_RANK, pid and host are those of the process that has the rank. */
struct refusal {
    uint32_t misfit, size, pid, zero;
    char host[HOST_TEXT], run[RUN_TEXT];
};

void nonce_make(unsigned char nonce[NONCE_BYTES]);
void hello_make(struct hello *hello);
/* The protocol of a HELLO or CHALLENGE, 0 if it is neither; *hello is set if the protocol is ours. */
uint32_t hello_read(struct str bytes, struct hello *hello);
/* Seals the line of the worker, or of rank 0, from the next frame on. */
void handshake_seal(struct line *line, const struct job_key *key, const struct hello *hello,
                    const struct hello *challenge, bool is_first);
/* Copies a struct from a frame and ends its texts; false: it has another size. */
bool join_read(struct str bytes, struct join *join);
bool welcome_read(struct str bytes, struct welcome *welcome);
bool refusal_read(struct str bytes, struct refusal *refusal);
/* The misfit of an AWAY; MISFIT_NONE: it is not one that may come without a seal. */
enum misfit away_read(struct str bytes, struct away *away);

/* For rank 0: why a worker that has the key does not belong to this rendezvous, or MISFIT_NONE. Fills *refusal, but for
 * who has the rank. */
enum misfit join_check(const struct join *join, uint32_t size, const char *run, struct refusal *refusal);
/* For rank 0's log: "it is one of 3 processes, not of 2". `join` and `refusal` count after the proof only. */
#define MISFIT_TEXT 320
char *misfit_text(enum misfit misfit, const struct join *join, const struct refusal *refusal, char text[MISFIT_TEXT]);
/* For the worker: its error. `where`: rank 0's address. */
int away_fail(const struct away *away, const char *where, bool has_key, struct error *err);
int refusal_fail(const struct refusal *refusal, const struct join *join, const char *where, struct error *err);
