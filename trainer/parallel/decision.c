#include "trainer/parallel/decision.h"

#include <assert.h>

#define TIME_MARGIN 1.5 /* the next step, save or evaluation may take this many times the longest so far */

static bool save_due(const struct rules *rules, const struct decision_facts *facts)
{
    const struct opt_count_or_time every = rules->save_every;
    if (facts->step == facts->saved_step || facts->step == facts->tried_step)
        return false;
    return facts->step == rules->steps || facts->keep ||
           (rules->keep_every > 0 && facts->step % rules->keep_every == 0) ||
           (every.count > 0 ? facts->step % every.count == 0
                            : facts->now - facts->saved_clock >= (double)every.seconds);
}

static bool evaluation_due(const struct rules *rules, const struct decision_facts *facts)
{
    if (!rules->evaluates || facts->step == facts->evaluated_step)
        return false;
    return facts->step == rules->steps ||
           (rules->eval_every > 0 && facts->step > 0 && facts->step % rules->eval_every == 0);
}

/* Whether work that takes `seconds`, and with `save` a save after it, might end after the deadline. */
static bool is_late(const struct rules *rules, const struct decision_facts *facts, double seconds, bool save)
{
    const double ahead = seconds + (save ? facts->save_seconds : 0);
    return facts->now + (facts->fresh ? 1 : TIME_MARGIN) * ahead >= rules->deadline;
}

struct decision decision_of(const struct rules *rules, const struct decision_facts *facts)
{
    const bool unsaved = facts->step != facts->saved_step, last = facts->step == rules->steps;
    const bool save = save_due(rules, facts), evaluate = evaluation_due(rules, facts);
    assert(facts->step <= rules->steps && facts->saved_step <= facts->step);
    /* With a damaged shard (ERR_VERIFY) the state is good, only the next samples are missing, so it is saved. After any
     * other failure, as a full disk or a step that is not finite, the previous checkpoint is the better one to resume
     * from. */
    if (facts->failure != ERR_NONE && facts->failure != ERR_STOPPED)
        return (struct decision){.save = unsaved && facts->failure == ERR_VERIFY, .stop = STOP_FAILED};
    if (facts->failure == ERR_STOPPED || (facts->asked && !(last && !evaluate)))
        return (struct decision){.save = unsaved, .stop = facts->asked ? STOP_ASKED : STOP_TIME};
    if (evaluate && is_late(rules, facts, facts->evaluation_seconds, unsaved))
        return (struct decision){.save = unsaved, .stop = STOP_TIME};
    if (save || evaluate)
        return (struct decision){.save = save, .evaluate = evaluate};
    if (last)
        return (struct decision){.stop = STOP_FINISHED};
    if (rules->patience > 0 && facts->since_best >= rules->patience)
        return (struct decision){.save = unsaved, .stop = STOP_ENOUGH};
    if (rules->stop_at > 0 && facts->step == rules->stop_at)
        return (struct decision){.save = unsaved, .stop = STOP_AFTER};
    if (is_late(rules, facts, (double)(facts->queued + 1) * facts->step_seconds,
                true)) /* the queued steps and one more */
        return (struct decision){.save = unsaved, .stop = STOP_TIME};
    return (struct decision){0};
}
