// apply.h - definitions from files to a Peal, without a person who sees a plan first.
#pragma once

#include "cli/client.h"
#include "cli/project.h"

// apply_all makes a Peal say what the files say, in one transaction, or nothing; an exit status,
// and what is wrong was told, with its file and line.
int apply_all(const Client *client, const Project *project);
