#include "store/statements.h"

#include "store/act.h"
#include "store/again.h"
#include "store/attempt.h"
#include "store/audit.h"
#include "store/audit_known.h"
#include "store/audit_mend.h"
#include "store/audit_outside.h"
#include "store/automation.h"
#include "store/awaiting.h"
#include "store/campaign.h"
#include "store/cause.h"
#include "store/counter.h"
#include "store/decision.h"
#include "store/dedup.h"
#include "store/definition.h"
#include "store/delivery.h"
#include "store/depth.h"
#include "store/durability.h"
#include "store/duty.h"
#include "store/epoch.h"
#include "store/event.h"
#include "store/facts.h"
#include "store/execution.h"
#include "store/generation.h"
#include "store/handler.h"
#include "store/handover.h"
#include "store/health.h"
#include "store/hook.h"
#include "store/idempotency.h"
#include "store/inbox.h"
#include "store/integration.h"
#include "store/job.h"
#include "store/journal.h"
#include "store/key.h"
#include "store/session.h"
#include "store/curve.h"
#include "store/kpi.h"
#include "store/due.h"
#include "store/outlook.h"
#include "store/lane.h"
#include "store/list.h"
#include "store/message.h"
#include "store/meta.h"
#include "store/node.h"
#include "store/notification.h"
#include "store/operation.h"
#include "store/overdue.h"
#include "store/pace.h"
#include "store/poll_group.h"
#include "store/preference.h"
#include "store/progress.h"
#include "store/purge.h"
#include "store/queue.h"
#include "store/rate.h"
#include "store/recall.h"
#include "store/registry.h"
#include "store/report.h"
#include "store/response.h"
#include "store/rule.h"
#include "store/run.h"
#include "store/sample.h"
#include "store/schedule.h"
#include "store/sequence.h"
#include "store/site.h"
#include "store/source.h"
#include "store/survey.h"
#include "store/surveys.h"
#include "store/tally.h"
#include "store/target.h"
#include "store/tenant.h"
#include "store/trigger_event.h"
#include "store/versions.h"

const Statement *const *const all_statements[] = {
    act_statements,
    again_statements,
    attempt_statements,
    audit_statements,
    audit_known_statements,
    audit_mend_statements,
    audit_outside_statements,
    audit_page_statements,
    automation_statements,
    awaiting_statements,
    campaign_statements,
    cause_statements,
    counter_statements,
    decision_statements,
    dedup_statements,
    definition_statements,
    delivery_statements,
    depth_statements,
    durability_statements,
    epoch_statements,
    duty_statements,
    event_statements,
    execution_statements,
    generation_statements,
    handover_statements,
    idempotency_statements,
    inbox_statements,
    integration_statements,
    job_statements,
    journal_statements,
    curve_statements,
    kpi_statements,
    due_statements,
    outlook_statements,
    pace_statements,
    key_statements,
    session_statements,
    handler_statements,
    health_statements,
    hook_statements,
    lane_statements,
    list_statements,
    rate_statements,
    message_statements,
    meta_statements,
    facts_statements,
    node_statements,
    notification_statements,
    operation_statements,
    overdue_statements,
    poll_group_statements,
    preference_statements,
    progress_statements,
    purge_statements,
    purge_audit_statements,
    purge_delivery_statements,
    queue_statements,
    queue_claim_statements,
    queue_next_statements,
    recall_statements,
    registry_statements,
    report_statements,
    response_statements,
    rule_statements,
    run_statements,
    sample_statements,
    schedule_statements,
    sequence_statements,
    site_statements,
    source_statements,
    survey_statements,
    surveys_statements,
    tally_statements,
    target_statements,
    tenant_statements,
    trigger_event_statements,
    versions_statements,
    NULL, // the end
};

StatementWalk statements_walk(void)
{
    return (StatementWalk){ 0 };
}

const Statement *statements_next(StatementWalk *walk)
{
    while (all_statements[walk->list] && !all_statements[walk->list][walk->at]) {
        walk->list++;
        walk->at = 0;
    }
    return all_statements[walk->list] ? all_statements[walk->list][walk->at++] : NULL;
}
