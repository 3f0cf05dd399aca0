// reference.h - definitions with what their references stand for (project.h).
#pragma once

#include "cli/project.h"

// reference_write writes a part as the server takes it, with the name of its file as its origin; an
// exit status, and what is wrong was told.
int reference_write(const Project *project, const ProjectPart *part, JsonOut *out);
