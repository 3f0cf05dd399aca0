// init: a project to begin with.

#include "base/file.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/schema.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOR_EDITORS "# yaml-language-server: $schema=peal.schema.json\n"

// InitFile is a file of the project; what it says NULL is the schema.
typedef struct InitFile {
    const char *name, *text;
} InitFile;

static const InitFile files[] = {
    { "README.md",
      "# Definitions of Peal\n"
      "\n"
      "    peal dev                   a server here; whatever channels would send, it keeps\n"
      "    peal diff -f .             what apply would change\n"
      "    peal apply -f .            changes it\n"
      "    peal emit user.signed-up --data '{\"name\":\"Ada\",\"country\":\"no\"}'\n"
      "    peal captured              what was sent\n"
      "    peal test .                plays scenarios.yaml in a Peal of its own: 60 days in a "
      "second\n"
      "\n"
      "Secrets are not in here: `{env: NAME}` is a variable of whoever applies, `{file: PATH}` a "
      "file.\n" },
    { "channels.yaml", FOR_EDITORS
      "# Ways out. `peal dev` keeps what they would send (peal captured) instead of sending it.\n"
      "kind: channel\n"
      "key: http:crm\n"
      "type: http\n"
      "config:\n"
      "  url: https://crm.example/in\n"
      "  # signingSecret: {env: CRM_SECRET}\n"
      "retry: {policy: exponential, interval: 1m, max: 5}\n"
      "---\n"
      "kind: channel\n"
      "key: memory:mail # an email channel, once there is a mail server\n"
      "type: memory\n" },
    { "triggers.yaml", FOR_EDITORS
      "# Who signs up is told to the CRM, once each; who does not answer is reminded.\n"
      "kind: trigger\n"
      "id: sign-up\n"
      "eventKind: user.signed-up\n"
      "channel: http:crm\n"
      "filter: {path: candidate.country, op: in, value: [no, se, dk]} # no is Norway: YAML 1.2\n"
      "dedupRecipe: [candidate.name]\n" },
    { "templates.yaml", FOR_EDITORS "kind: template\n"
                                    "id: welcome\n"
                                    "eventType: user.signed-up\n"
                                    "channel: memory:mail\n"
                                    "subject: Welcome, {{name}}\n"
                                    "body: |\n"
                                    "  Hello {{name}},\n"
                                    "  it is good to have you here.\n"
                                    "declares: [name] # who uses another placeholder is warned\n" },
    { "lists.yaml", FOR_EDITORS "# peal notify ops --body 'It is hot'\n"
                                "kind: list\n"
                                "id: ops\n"
                                "channels: [memory:mail]\n"
                                "targets:\n"
                                "  - {address: ada@example.com, name: Ada}\n"
                                "  - {address: grace@example.com, name: Grace}\n" },
    { "jobs.yaml", FOR_EDITORS "kind: job\n"
                               "name: nightly-report\n"
                               "cron: 15 3 * * *\n"
                               "zone: Europe/Oslo\n"
                               "handler: http:crm\n"
                               "payload: {report: sign-ups}\n" },
    { "surveys.yaml", FOR_EDITORS
      "# Who came is asked how it was, and reminded once; who was not content is told to the CRM.\n"
      "kind: survey\n"
      "id: visit\n"
      "published: true\n"
      "languages: [en, nb]\n"
      "title: {en: Your visit, nb: Besøket ditt}\n"
      "questions:\n"
      "  - id: rate\n"
      "    type: rating\n"
      "    min: 1\n"
      "    max: 5\n"
      "    required: true\n"
      "    text: {en: How was it?, nb: Hvordan var det?}\n"
      "triggers:\n"
      "  - id: closed\n"
      "    eventKind: visit.closed\n"
      "    channel: memory:mail\n"
      "    schedule: {reminders: [2d]}\n"
      "subscribers:\n"
      "  - key: http:crm\n"
      "    filter: {questionId: rate, op: <=, value: 2}\n" },
    { "scenarios.yaml", FOR_EDITORS
      "# What should happen, for `peal test .`: events at times, and the messages that come of "
      "them.\n"
      "# Any other message is a failure.\n"
      "kind: scenario\n"
      "name: Who signs up is welcomed, and told to the CRM\n"
      "steps:\n"
      "  - event: {kind: user.signed-up, payload: {name: Ada, country: no}, recipient: {address: "
      "ada@example.com}}\n"
      "    expect:\n"
      "      - {channel: memory:mail, to: ada@example.com, subject: \"Welcome, Ada\"}\n"
      "      - {channel: http:crm, payload: {name: Ada}}\n"
      "---\n"
      "kind: scenario\n"
      "name: Who lives elsewhere is only welcomed\n"
      "steps:\n"
      "  - event: {kind: user.signed-up, payload: {name: Bo, country: fr}, recipient: {address: "
      "bo@example.com}}\n"
      "    expect: {channel: memory:mail, contains: Hello Bo}\n"
      "---\n"
      "kind: scenario\n"
      "name: Who does not answer is reminded once\n"
      "ignore: {rule: nightly-report}\n"
      "until: +60d\n"
      "steps:\n"
      "  - event: {kind: visit.closed, recipient: {address: ada@example.com}}\n"
      "    expect: {channel: memory:mail, to: ada@example.com}\n"
      "  - at: +2d\n"
      "    expect: {channel: memory:mail, to: ada@example.com, send: 2}\n"
      "  - at: +40d\n"
      "    deliveries: {rule: \"visit:closed\", state: expired}\n"
      "---\n"
      "kind: scenario\n"
      "name: Who answers is left alone, and the CRM is told of a bad visit\n"
      "ignore: {rule: nightly-report}\n"
      "until: +60d\n"
      "steps:\n"
      "  - event: {kind: visit.closed, recipient: {address: ada@example.com}}\n"
      "    expect: {channel: memory:mail}\n"
      "  - at: +1d\n"
      "    answer: {to: ada@example.com, answers: {rate: 1}}\n"
      "    expect: {channel: http:crm, payload: {answers: {rate: 1}}}\n"
      "---\n"
      "kind: scenario\n"
      "name: The report is made at 03:15 in Oslo, also when clocks are set\n"
      "zone: Europe/Oslo\n"
      "start: 2026-03-28 12:00\n"
      "steps:\n"
      "  - {at: +1d 03:15, expect: {rule: nightly-report}}\n"
      "  - {at: +2d 03:15, expect: {rule: nightly-report}}\n" },
    { "peal.schema.json", NULL },
};

static int refuse(Arena *arena, const char *path, int exit, Str why)
{
    return output_failure(&(Failure){ .exit = exit,
                                      .error = str_format(arena, "%s cannot be written", path),
                                      .why = why,
                                      .hint = S("a folder that is empty, or new: peal init DIR") });
}

// write_file never writes over one that is there.
static int write_file(Arena *arena, const char *path, Str text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0)
        return refuse(arena, path, errno == EEXIST ? EXIT_CONFLICT : EXIT_FAILED,
                      str_from(strerror(errno)));
    bool is_whole = write(fd, text.at, text.len) == (ssize_t) text.len;
    int why = errno;
    if (close(fd) != 0 || !is_whole)
        return refuse(arena, path, EXIT_FAILED, str_from(strerror(is_whole ? errno : why)));
    printf("%s\n", path);
    return EXIT_DONE;
}

static const char *path_of(Arena *arena, const char *folder, const InitFile *file)
{
    return str_z(arena, str_format(arena, "%s/%s", folder, file->name));
}

// check_free looks at all before one is written: half a project helps nobody.
static int check_free(Arena *arena, const char *folder)
{
    struct stat found;
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        const char *path = path_of(arena, folder, &files[i]);
        if (lstat(path, &found) == 0)
            return refuse(arena, path, EXIT_CONFLICT, S("it is there already"));
    }
    return EXIT_DONE;
}

static int init(CommandArgs *args)
{
    Arena *arena = args_arena(args);
    const char *folder = args_word(args, 0) ? args_word(args, 0) : ".";
    int status = args_expect(args, "a DIR", 0, 1);
    if (status == EXIT_DONE)
        status = check_free(arena, folder);
    if (status == EXIT_DONE && mkdir(folder, 0755) != 0 && errno != EEXIST)
        status = refuse(arena, folder, EXIT_FAILED, str_from(strerror(errno)));
    for (size_t i = 0; i < ARRAY_LEN(files) && status == EXIT_DONE; i++) {
        Str text = files[i].text ? str_from(files[i].text) : schema_text(arena, "definition");
        status = write_file(arena, path_of(arena, folder, &files[i]), text);
    }
    return status;
}

const Command command_init = {
    .name = "init",
    .usage = "init [DIR]",
    .summary = "Write an example project of definitions as files",
    .details = "Two channels, a trigger, a template, a list, a job and a survey that work as they "
               "are,\n"
               "scenarios that show it, and the schema that editors check them by. Nothing is "
               "written\n"
               "over.\n"
               "\n"
               "  peal init shop\n"
               "  peal test shop\n"
               "  peal apply -f shop",
    .run = init,
};
