// commands.h - the rows of the client and offline commands; command.c lists them in order.
#pragma once

#include "cli/command.h"

// events.c
extern const Command command_emit;
extern const Command command_notify;
extern const Command command_events;
extern const Command command_why;

// listen.c, hooks.c
extern const Command command_listen;
extern const Command command_hooks;

// defer.c
extern const Command command_defer;
extern const Command command_deferred;

// deliveries.c
extern const Command command_deliveries;
extern const Command command_captured;

// inbox.c
extern const Command command_inbox;

// outbox.c
extern const Command command_outbox;

// operations.c
extern const Command command_operations;
// installation.c
extern const Command command_nodes;
extern const Command command_sites;
extern const Command command_settings;
// poll_groups.c
extern const Command command_poll_groups;

// messages.c
extern const Command command_messages;

// dead.c
extern const Command command_dead;

// causes.c
extern const Command command_causes;

// audit.c
extern const Command command_audit;

// curves.c
extern const Command command_curves, command_plan;

// kpi.c
extern const Command command_kpi;

// definitions.c
extern const Command command_triggers;
extern const Command command_templates;
extern const Command command_lists;
extern const Command command_channels;
extern const Command command_integrations;
extern const Command command_sources;
extern const Command command_keys;
extern const Command command_tenants;

// apply.c, export.c
extern const Command command_apply;
extern const Command command_diff;
extern const Command command_export;

// init.c, schema.c
extern const Command command_init;
extern const Command command_schema;

// jobs.c
extern const Command command_jobs;
extern const Command command_automations;

// surveys.c
extern const Command command_surveys;

// campaigns.c
extern const Command command_campaigns;

// system.c
extern const Command command_hold;
extern const Command command_release;
extern const Command command_clock;
extern const Command command_tick;
extern const Command command_health;

// completion.c
extern const Command command_completion;

// top.c
extern const Command command_top;

// offline.c
extern const Command command_filter;
extern const Command command_dedup;

// cron.c
extern const Command command_cron;

// template.c
extern const Command command_template;
extern const Command command_version;
