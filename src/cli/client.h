// client.h - one caller of the HTTP API: where it is, with which key, and what an answer means.
//
// What the client commands can do, any program can do: everything goes over HTTP. The address is
// --url, else PEAL_URL, else the default of `peal serve`. The key is --key, else PEAL_KEY, else
// PEAL_ADMIN_KEY, else the file that `peal dev` leaves in the current folder; that file is used
// only for a server on this machine, so that it never travels. With --json, standard output holds
// what the server said, as it is, also when it said what is wrong.
#pragma once

#include "base/json.h"
#include "base/str.h"
#include "cli/command.h"
#include "cli/input.h"
#include "cli/output.h"
#include "net/listen.h"
#include "net/transfer.h"

#define CLIENT_URL_DEFAULT "http://" LISTEN_DEFAULT
#define CLIENT_KEY_FILE "peal-data/admin.key"

// CLIENT_OPTIONS ends the table of options of every client command; PAGE_OPTIONS are those of one
// that lists, TENANT_OPTION that of one that may look at another tenant (docs/keys.md).
// clang-format off
#define TENANT_OPTION { "tenant", "ID", "of this tenant; for keys with the role operations, and audited" }
#define PAGE_OPTIONS                                                                               \
    { "limit", "N", "how many to list; 50 unless said" },                                          \
    { "cursor", "C", "go on from there" }
#define CLIENT_OPTIONS                                                                             \
    { "json", NULL, "print what the server says, as JSON" },                                       \
    { "url", "URL", "where Peal listens (PEAL_URL; default " CLIENT_URL_DEFAULT ")" },             \
    { "ca", "FILE", "certificates to trust, in PEM, instead of the system's (PEAL_CA)" },             \
    { "key", "KEY", "the key to use (PEAL_KEY, PEAL_ADMIN_KEY, ./" CLIENT_KEY_FILE ")" },          \
    { 0 }
// clang-format on

typedef struct Client {
    const CommandArgs *args;
    Arena *arena;
    bool json; // print answers as they are
    Str url;   // without a slash at its end
    Str key;   // none: ask without
    Str ca;    // a file of certificates to trust; none: the system's
    Span timeout;
    Str idempotency_key;    // a header of the next calls; none
    Str if_match;           // likewise: the version that is meant to change
    Str body_type;          // of the bodies that are sent; none: JSON
    InputFile *file;        // that the next calls send instead of a body; NULL
    bool takes_text;        // an answer need not be JSON
    TransferResult lost;    // by the last client_stream()
    const char *lists_with; // the command that lists what there is, for the hint of a 404; NULL

    // place says in a person's words where a problem's path leads; NULL: the path is told.
    Str (*place)(void *with, Arena *arena, Str path);
    void *place_with;

    Failure *failure; // where what is wrong is kept instead of being told; NULL
} Client;

typedef struct Answer {
    int status;
    Str text;         // the body as it came
    const Json *json; // NULL when there is none
} Answer;

Client client_open(const CommandArgs *args);

// client_call sends a request and returns EXIT_DONE for an answer of 2xx with JSON or no body;
// anything else it reports, and returns the exit status. A body of none sends none.
int client_call(const Client *client, const char *method, Str path, Str body, Answer *ret);
int client_get(const Client *client, Str path, Answer *ret);

// client_stream reads a stream of the server's, behind the frame with the id last (none: from now),
// and hands over what comes until piece() says that it is enough, or the connection ends: both are
// EXIT_DONE. A refusal is reported. ret_lost says that it could not be asked, or broke, of which
// client_lost() tells the reason.
int client_stream(Client *client, Str path, Str last, bool (*piece)(void *with, Str bytes),
                  void *with, bool *ret_lost);
int client_lost(const Client *client);

// client_look is a GET for something that is nice to know: false, and silent, where it fails.
bool client_look(const Client *client, Str path, Answer *ret);

// client_path is base/id/tail, percent-encoded; tail may be NULL.
Str client_path(Arena *arena, const char *base, const char *id, const char *tail);

// client_with adds a parameter to path, percent-encoded.
Str client_with(const Client *client, Str path, Str name, Str value);

// client_query adds to path those of the options (names with blanks between) that were given.
Str client_query(const Client *client, Str path, const char *options);

// ClientList is a list to fetch and print (pages.h): where, the options that narrow it beside
// --limit and --cursor, and its columns.
typedef struct ClientList {
    Str path;
    const char *options; // names with blanks between
    const Column *columns;
    size_t column_count;
    const char *noun; // in the plural, for "No events."
} ClientList;
int client_list(const CommandArgs *args, const ClientList *list);

// client_act posts base/ID/action for each of the words, with --reason where that was given, and
// prints the state that each is in then. It goes on after a failure, so that one that moved on does
// not stop the others; the first failure is the exit status.
int client_act(const Client *client, const char *base, const char *action);

// client_show fetches one thing, of the tenant that --tenant names, and prints its members;
// lists_with is as in Client.
int client_show(const CommandArgs *args, Str path, const char *lists_with);
