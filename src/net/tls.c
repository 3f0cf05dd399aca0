#include "net/tls.h"

#include "base/file.h"

#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <sys/stat.h>

enum { NAME_BYTES_MAX = 256 };

struct Certificate {
    gnutls_pcert_st chain[CERTIFICATE_CHAIN_MAX];
    unsigned chain_len;
    gnutls_privkey_t key;
    Instant expires_at;
    Certificate *before;
    char name[NAME_BYTES_MAX];
};

// The certificate of the server whose loop runs on this thread. The library asks for one without
// saying for whom.
static _Thread_local _Atomic(Certificate *) *served;

static gnutls_datum_t datum(Str text)
{
    return (gnutls_datum_t){ (unsigned char *) (uintptr_t) text.at, (unsigned) text.len };
}

static Err read_file(Arena *arena, Str path, const char *what, Str *ret, Error *error)
{
    TRY(file_get_regular(arena, path, CERTIFICATE_BYTES_MAX, ret, error));
    if (!ret->at)
        return fail(error, ERR_SETUP, "cannot read the %s %.*s", what, STR_ARG(path));
    return ERR_OK;
}

static Err check_rights(Arena *arena, Str path, Error *error)
{
    struct stat facts;
    if (stat(str_z(arena, path), &facts) == 0 && facts.st_mode & S_IRWXO)
        return fail(error, ERR_SETUP,
                    "everybody on this machine can read the key %.*s: chmod o= it, and use another,"
                    " for this one may be known",
                    STR_ARG(path));
    return ERR_OK;
}

// check_fit lets the library compare the two.
static Err check_fit(gnutls_datum_t chain, gnutls_datum_t key, Error *error)
{
    gnutls_certificate_credentials_t both;
    if (gnutls_certificate_allocate_credentials(&both) != 0)
        abort();
    int result = gnutls_certificate_set_x509_key_mem(both, &chain, &key, GNUTLS_X509_FMT_PEM);
    gnutls_certificate_free_credentials(both);
    if (result == GNUTLS_E_CERTIFICATE_KEY_MISMATCH)
        return fail(error, ERR_SETUP, "the key is not the certificate's");
    if (result < 0)
        return fail(error, ERR_SETUP, "the certificate or its key cannot be used: %s",
                    gnutls_strerror(result));
    return ERR_OK;
}

// read_facts takes the name of the first and the earliest end of all.
static void read_facts(Certificate *certificate, gnutls_datum_t text)
{
    gnutls_x509_crt_t chain[CERTIFICATE_CHAIN_MAX];
    unsigned count = CERTIFICATE_CHAIN_MAX;
    certificate->expires_at = INSTANT_NONE;
    int result = gnutls_x509_crt_list_import(chain, &count, &text, GNUTLS_X509_FMT_PEM, 0);
    if (result < 0)
        return;
    size_t len = sizeof certificate->name;
    if (gnutls_x509_crt_get_subject_alt_name(chain[0], 0, certificate->name, &len, NULL) < 0) {
        len = sizeof certificate->name;
        if (gnutls_x509_crt_get_dn(chain[0], certificate->name, &len) < 0)
            certificate->name[0] = '\0';
    }
    for (unsigned i = 0; i < count; i++) {
        Instant end = (Instant) gnutls_x509_crt_get_expiration_time(chain[i]) * SPAN_SECOND;
        certificate->expires_at = earlier(certificate->expires_at, end);
        gnutls_x509_crt_deinit(chain[i]);
    }
}

static Err import(Certificate *certificate, gnutls_datum_t chain, gnutls_datum_t key, Error *error)
{
    unsigned count = CERTIFICATE_CHAIN_MAX;
    int result =
        gnutls_pcert_list_import_x509_raw(certificate->chain, &count, &chain, GNUTLS_X509_FMT_PEM,
                                          GNUTLS_X509_CRT_LIST_FAIL_IF_UNSORTED);
    if (result < 0)
        return fail(error, ERR_SETUP, "the certificate cannot be used: %s",
                    gnutls_strerror(result));
    certificate->chain_len = count;
    if (gnutls_privkey_init(&certificate->key) != 0)
        abort();
    result = gnutls_privkey_import_x509_raw(certificate->key, &key, GNUTLS_X509_FMT_PEM, NULL, 0);
    if (result < 0)
        return fail(error, ERR_SETUP, "the key cannot be used: %s", gnutls_strerror(result));
    read_facts(certificate, chain);
    return ERR_OK;
}

Err certificate_load(Str certificate_file, Str key_file, Certificate **ret, Error *error)
{
    DEFER(arena_wipe) Arena arena = { 0 };
    Str chain, key;
    TRY(read_file(&arena, certificate_file, "certificate", &chain, error));
    TRY(read_file(&arena, key_file, "certificate's key", &key, error));
    TRY(check_rights(&arena, key_file, error));
    TRY(check_fit(datum(chain), datum(key), error));
    Certificate *certificate = memory_new(sizeof *certificate);
    Err err = import(certificate, datum(chain), datum(key), error);
    if (err == ERR_OK)
        *ret = certificate;
    else
        certificate_free(certificate);
    return err;
}

void certificate_free(Certificate *certificate)
{
    while (certificate) {
        Certificate *before = certificate->before;
        for (unsigned i = 0; i < certificate->chain_len; i++)
            gnutls_pcert_deinit(&certificate->chain[i]);
        if (certificate->key)
            gnutls_privkey_deinit(certificate->key);
        free(certificate);
        certificate = before;
    }
}

void certificate_follow(Certificate *certificate, Certificate *before)
{
    assert(!certificate->before);
    certificate->before = before;
}

Instant certificate_expires_at(const Certificate *certificate)
{
    return certificate->expires_at;
}

Str certificate_name(const Certificate *certificate)
{
    return str_from(certificate->name);
}

static int retrieve(gnutls_session_t session, const gnutls_datum_t *issuers, int issuer_count,
                    const gnutls_pk_algorithm_t *algorithms, int algorithm_count,
                    gnutls_pcert_st **ret_chain, unsigned *ret_len, gnutls_privkey_t *ret_key)
{
    (void) session, (void) issuers, (void) issuer_count, (void) algorithms, (void) algorithm_count;
    assert(served);
    Certificate *certificate = atomic_load(served);
    *ret_chain = certificate->chain;
    *ret_len = certificate->chain_len;
    *ret_key = certificate->key;
    return 0;
}

TlsRetriever tls_retriever(void)
{
    return (TlsRetriever) retrieve;
}

void tls_serve(_Atomic(Certificate *) *current)
{
    served = current;
}

void tls_send(void *session, Str text)
{
    ssize_t sent = gnutls_record_send(session, text.at, text.len);
    (void) sent; // A client that takes no answer gets none.
}
