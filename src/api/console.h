// console.h - the console and its documents, as the build embedded them (tools/embed_console.py).
//
// Each file of web/dist is a row, by its path there, packed with gzip and known by an ETag that
// follows from its bytes. Where web/dist was not there, index.html is a page that says so.
#pragma once

#include "base/base.h"

typedef struct ConsoleFile {
    const char *path; // such as index.html, main-1b2c3d4e.js, docs/cron.html
    const char *type;
    const char *etag;
    const char *packed;
    size_t packed_size, size;
} ConsoleFile;

extern const ConsoleFile console_files[]; // by path
extern const size_t console_file_count;
