// store_suite.c - one suite for both databases: every promise of the headers in src/store/.
//
//   store_suite [URL]      sqlite:… or postgres://…; see fixture.h
#include "fixture.h"

extern const Part ingest_part, queue_part, definitions_part, writer_part;

static const Part *const parts[] = { &ingest_part, &queue_part, &definitions_part, &writer_part };

int main(int argc, char **argv)
{
    int count = 0, bad = 0, number = 0;
    suite_start(argc, argv);
    CHECK(suite_is_postgres() || argc <= 2);
    for (size_t p = 0; p < ARRAY_LEN(parts); p++)
        count += parts[p]->count;
    printf("1..%d\n", count);
    for (size_t p = 0; p < ARRAY_LEN(parts); p++) {
        for (int i = 0; i < parts[p]->count; i++) {
            bool failed = parts[p]->run(i) > 0;
            printf("%s %d - %s\n", failed ? "not ok" : "ok", ++number, parts[p]->tests[i].name);
            bad += failed;
        }
    }
    suite_end();
    return bad != 0;
}
