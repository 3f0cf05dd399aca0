#include "app/renewal.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/time.h"

#include <sys/stat.h>

// mix folds numbers into one that differs when one of them does.
static uint64_t mix(uint64_t seen, uint64_t number)
{
    return (seen ^ number) * 0x9e3779b97f4a7c15u + 1;
}

static uint64_t look_at(uint64_t seen, Str path)
{
    DEFER(arena_done) Arena arena = { 0 };
    struct stat facts = { 0 };
    if (stat(str_z(&arena, path), &facts) != 0)
        return mix(seen, 0);
    seen = mix(seen, facts.st_ino);
    seen = mix(seen, (uint64_t) facts.st_size);
    seen = mix(seen, (uint64_t) facts.st_mtim.tv_sec);
    seen = mix(seen, (uint64_t) facts.st_mtim.tv_nsec);
    return mix(seen, facts.st_mode); // a key that was open to all may have been closed
}

static uint64_t look(const Renewal *renewal)
{
    return look_at(look_at(1, renewal->certificate_file), renewal->key_file);
}

static void tell(const Certificate *certificate)
{
    char text[TIME_TEXT_MAX];
    Clock clock;
    clock_init_system(&clock);
    Instant end = certificate_expires_at(certificate);
    bool is_near = end - clock_now(&clock) < CERTIFICATE_NEAR;
    Str when = time_text(end, text);
    if (is_near)
        log_warn("tls.expires", "at=%.*s", STR_ARG(when));
    else
        log_info("tls.certificate", "name=%s until=%.*s", log_quote(certificate_name(certificate)),
                 STR_ARG(when));
}

Err renewal_begin(Renewal *renewal, const Config *config, Certificate **ret, Error *error)
{
    *renewal = (Renewal){ .certificate_file = config->tls_cert, .key_file = config->tls_key };
    if (!config->tls_cert.at)
        return ERR_OK;
    renewal->seen = look(renewal); // before they are read: what changes meanwhile is seen later
    TRY(certificate_load(renewal->certificate_file, renewal->key_file, ret, error));
    tell(*ret);
    return ERR_OK;
}

void renewal_look(Renewal *renewal, bool is_asked)
{
    if (!renewal->certificate_file.at)
        return;
    uint64_t seen = look(renewal);
    if (seen == renewal->seen && !is_asked)
        return;
    renewal->seen = seen;
    Certificate *certificate;
    Error error = { 0 };
    if (certificate_load(renewal->certificate_file, renewal->key_file, &certificate, &error) !=
        ERR_OK) {
        log_error("tls.not_renewed", "detail=%s", log_quote(str_from(error.detail)));
        return;
    }
    tell(certificate);
    server_present(renewal->server, certificate);
}
