/* peal.h - hand notifications, events and deferred runs to the Peal site on this machine.
 *
 *     Peal *peal = peal_open("/var/lib/peal/site.db");
 *     PealNotification hot = { .list = "ops", .subject = "Boiler", .body = "It is hot" };
 *     char id[PEAL_ID_SIZE] = "";
 *     PealResult result = peal_notify(peal, &hot, id);
 *
 * When peal_notify() or another of these returns PEAL_OK, what was handed over is on this machine's
 * disk, and the site will hand it on to central however long that takes: no network is touched, and
 * it costs about one fsync. It makes no difference whether `peal site` runs just then. While it
 * does, it is asked through its socket; while it does not, a record is appended to its spool, a
 * file that it takes in when it is back. Both lie beside the site's store, which this library never
 * opens.
 *
 * An id names what was handed over, for good. It is made by the call, or is the caller's own: give
 * a UUID in id, and calling again with the same one, after a failure or a crash, makes no second
 * notification.
 *
 * Texts are UTF-8. A Peal may be used by many threads at once; there is no state behind it but
 * where the site lies.
 */
#ifndef PEAL_H
#define PEAL_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PEAL_API __attribute__((visibility("default")))

enum { PEAL_ID_SIZE = 37 }; /* 36 characters and their end */

typedef struct Peal Peal;

typedef enum PealResult {
    PEAL_OK,
    PEAL_INVALID, /* what was given can never be handed over: a text is missing, too long, or no
                     UTF-8; or the site says so */
    PEAL_FULL,    /* the disk, or what this program may write, is full: nothing was handed over */
    PEAL_FAILED,  /* the machine said no (errno tells): it may or may not be handed over */
    PEAL_UNREACHABLE, /* the site does not run, so nobody can be asked (peal_status) */
    PEAL_NOT_FOUND,   /* the site knows of no such id (peal_status) */
    PEAL_OUTDATED,    /* the site does not run, and its spool is of a newer Peal than this library:
                         nothing was handed over */
} PealResult;

/* peal_open names the site by the path of its store, such as /var/lib/peal/site.db; NULL: what
 * PEAL_SITE says, else ./peal-site.db. It opens nothing, and fails (NULL) only for want of memory.
 */
PEAL_API Peal *peal_open(const char *store);
PEAL_API void peal_close(Peal *peal); /* NULL is allowed */

/* PealNotification is what to tell the people on a list. Only list and body are needed. */
typedef struct PealNotification {
    const char *list;    /* whom, as central knows the list */
    const char *subject; /* NULL: none */
    const char *body;
    const char *type;      /* of the channel, such as "email"; NULL: the list's first */
    const char *type_data; /* for the channel: a JSON object; NULL: none */
    const char *instance;  /* who speaks: which machine or line; NULL */
    const char *script;    /* which program; NULL */
} PealNotification;

/* peal_notify hands a notification over. id is the caller's own where it holds one, else an empty
 * text, and afterwards the notification's; also after PEAL_FAILED and PEAL_FULL, so that the same
 * call again makes no second one. */
PEAL_API PealResult peal_notify(Peal *peal, const PealNotification *notification,
                                char id[PEAL_ID_SIZE]);

/* PealEvent is something that happened. Only kind is needed. */
typedef struct PealEvent {
    const char *kind;           /* such as "order.paid" */
    const char *payload;        /* a JSON object; NULL: {} */
    const char *recipient;      /* a JSON object; NULL: none */
    const char *entity;         /* what it is about, such as "booking:12345"; NULL */
    const char *correlation_id; /* NULL */
} PealEvent;

/* peal_event hands an event over; id is as with peal_notify. */
PEAL_API PealResult peal_event(Peal *peal, const PealEvent *event, char id[PEAL_ID_SIZE]);

/* PealDeferral asks for a run of a job later on, for an entity. Only job, entity and one of the
 * times are needed. */
typedef struct PealDeferral {
    const char *job;     /* by its name, as central knows it */
    const char *entity;  /* what the run is about, such as "order:12345" */
    const char *run_at;  /* when: RFC 3339; NULL: delay says it */
    const char *delay;   /* how long from now, such as "15m"; NULL: run_at says it */
    const char *payload; /* for the handler: a JSON object; NULL: the job's own */
    bool replaces;       /* it takes the place of what is pending of the entity */
} PealDeferral;

/* peal_defer hands it over; id is as with peal_notify, and names what was asked for, not the run. A
 * delay counts from this call, however long the way to central takes. */
PEAL_API PealResult peal_defer(Peal *peal, const PealDeferral *deferral, char id[PEAL_ID_SIZE]);

/* peal_cancel_deferred calls off the runs of an entity that have not begun when this reaches
 * central, among them whatever was handed over before. */
PEAL_API PealResult peal_cancel_deferred(Peal *peal, const char *job, const char *entity,
                                         char id[PEAL_ID_SIZE]);

/* PealStatus is what became of a notification. */
typedef struct PealStatus {
    char status[16]; /* Forwarding, Pending, Retrying, Delivered, Parked, Discarded */
    bool is_stale;   /* it is what was last known: central cannot be reached now */
    int retry_count;
    char last_error[256]; /* empty: none */
    char enqueued_at[32]; /* RFC 3339, UTC; empty: not known */
    char delivered_at[32];
} PealStatus;

/* peal_status asks the site, which asks central where it has handed the notification on. What is
 * still in the spool is Forwarding, whether or not the site runs. */
PEAL_API PealResult peal_status(Peal *peal, const char *id, PealStatus *ret);

/* peal_result_text is the sentence for a result. */
PEAL_API const char *peal_result_text(PealResult result);

#ifdef __cplusplus
}
#endif
#endif
