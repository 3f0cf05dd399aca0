// replay.c - runs a fuzz target over every file of the folders named on the command line.
#include "fuzz.h"

#include <dirent.h>

enum { INPUT_MAX = 1 << 20 };

static int run_file(const char *folder, const char *name)
{
    DEFER(arena_done) Arena arena = { 0 };
    Str path = str_format(&arena, "%s/%s", folder, name);
    FILE *file = fopen(path.at, "rb");
    if (!file) {
        fprintf(stderr, "cannot read %s\n", path.at);
        return 1;
    }
    // Exactly as long as the input, so that a sanitizer sees a read beyond its end.
    char *input = (char *) memory_new(INPUT_MAX);
    size_t len = fread(input, 1, INPUT_MAX, file);
    fclose(file);
    uint8_t *exact = (uint8_t *) memory_new(len > 0 ? len : 1);
    memcpy(exact, input, len);
    free(input);
    // Named first, for a target that stops the program must be traced to its input.
    printf("%s\n", path.at);
    fflush(stdout);
    LLVMFuzzerTestOneInput(exact, len);
    free(exact);
    return 0;
}

int main(int argc, char **argv)
{
    int failed = 0, count = 0;
    for (int i = 1; i < argc; i++) {
        DIR *folder = opendir(argv[i]);
        if (!folder) {
            fprintf(stderr, "cannot read %s\n", argv[i]);
            return 1;
        }
        for (struct dirent *entry; (entry = readdir(folder));) {
            if (entry->d_name[0] == '.')
                continue;
            failed += run_file(argv[i], entry->d_name);
            count++;
        }
        closedir(folder);
    }
    if (count == 0)
        fprintf(stderr, "there is no input\n");
    return failed > 0 || count == 0;
}
