-- What an application calls inside its own transaction, on PostgreSQL: emit, emit_many, cancel,
-- notify, defer, cancel_deferred. Each puts rows into the inbox, which roll back with the caller or
-- are delivered when it commits. docs/outbox.md and docs/deferred.md say how they are used.
--
-- They run with the rights of their owner, so that the caller needs no right but to call them;
-- allow() says who may, for which tenant. Their search_path is fixed, or nothing in them is looked
-- up by it. What could not become an event later is refused at once, for its caller is there to hear
-- it. The other functions are theirs alone.

-- Whose events a database role may emit.
CREATE TABLE emitter (
    role TEXT NOT NULL,
    id TEXT NOT NULL, -- the tenant's, which goes with it
    tenant BIGINT NOT NULL,
    PRIMARY KEY (role, id)
);

-- What emit() has to know of the nodes: manual_now is the time where a manual clock runs, payload_max
-- is theirs. changes counts those of emitter.
CREATE TABLE emit_state (
    one SMALLINT NOT NULL PRIMARY KEY,
    manual_now BIGINT,
    payload_max BIGINT NOT NULL,
    changes BIGINT NOT NULL
);
INSERT INTO emit_state (one, manual_now, payload_max, changes) VALUES (1, NULL, 1048576, 0);

-- Until its value (real time) a node looks at the inbox every few milliseconds, and needs no NOTIFY,
-- at which all commits of the cluster would wait for each other. A sequence is read in a tenth of
-- the time that a row takes.
CREATE SEQUENCE emit_awake MINVALUE 0;

-- emit_known is the two tables as a constant, which a call of emit() need not look up: {max, roles:
-- {role: {tenant's id: tenant}}}, and no roles while a manual clock runs, so that every call takes
-- the long way. Whatever changes the tables makes it anew in the same transaction. PostgreSQL puts
-- it in the place of its call, and plans again when it changed; were it IMMUTABLE, it would not.
CREATE FUNCTION emit_known() RETURNS JSONB LANGUAGE sql STABLE
RETURN CAST('{"max": 1048576, "roles": {}}' AS JSONB);

-- The row of emit_state is what changes wait for each other at. A transaction that cannot see the
-- other's change then, because it sees but what was when it began, is refused.
CREATE FUNCTION emit_renew() RETURNS TRIGGER LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    roles JSONB;
BEGIN
    SELECT jsonb_object_agg(r.role, r.tenants) INTO roles
      FROM (SELECT e.role, jsonb_object_agg(e.id, e.tenant) AS tenants FROM peal.emitter e
             WHERE NEW.manual_now IS NULL GROUP BY e.role) r;
    EXECUTE format('CREATE OR REPLACE FUNCTION peal.emit_known() RETURNS JSONB LANGUAGE sql STABLE'
                   ' RETURN CAST(%L AS JSONB)',
                   jsonb_build_object('max', NEW.payload_max, 'roles', COALESCE(roles, '{}')));
    RETURN NULL;
END $$;
CREATE TRIGGER emit_state_changed AFTER UPDATE ON emit_state FOR EACH ROW
    WHEN (OLD.payload_max <> NEW.payload_max OR OLD.changes <> NEW.changes
          OR (OLD.manual_now IS NULL) <> (NEW.manual_now IS NULL))
    EXECUTE FUNCTION emit_renew();

CREATE FUNCTION emitter_changed() RETURNS TRIGGER LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE peal.emit_state SET changes = changes + 1;
    RETURN NULL;
END $$;
CREATE TRIGGER emitter_changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON emitter
    FOR EACH STATEMENT EXECUTE FUNCTION emitter_changed();

-- inbox_tenant is the number of the tenant that the caller means, if he may.
CREATE FUNCTION inbox_tenant(named TEXT) RETURNS BIGINT LANGUAGE plpgsql STABLE AS $$
DECLARE
    found BIGINT;
    others BIGINT;
BEGIN
    SELECT t.tenant INTO found FROM peal.emitter e JOIN peal.tenant t ON t.tenant = e.tenant
     WHERE e.role = session_user AND t.id = named AND t.is_hidden = 0;
    IF found IS NOT NULL THEN
        RETURN found;
    END IF;
    -- Whoever is a member of Peal's own role may emit for every tenant; a superuser is.
    IF pg_has_role(session_user, current_user, 'MEMBER') THEN
        SELECT t.tenant INTO found FROM peal.tenant t
         WHERE t.id = named AND t.is_hidden = 0 OR named IS NULL AND t.tenant = 1;
    ELSE
        SELECT min(t.tenant), max(t.tenant) INTO found, others
          FROM peal.emitter e JOIN peal.tenant t ON t.tenant = e.tenant
          JOIN pg_roles r ON r.rolname = e.role
         WHERE pg_has_role(session_user, r.oid, 'MEMBER') AND t.is_hidden = 0
           AND (named IS NULL OR t.id = named);
        IF found <> others THEN
            RAISE EXCEPTION 'role "%" may emit for several tenants: name one (tenant => ''…'')', session_user
                USING ERRCODE = 'invalid_parameter_value';
        END IF;
    END IF;
    IF found IS NULL THEN
        RAISE EXCEPTION 'role "%" may not emit for tenant "%"', session_user, COALESCE(named, '')
            USING ERRCODE = 'insufficient_privilege', HINT = 'SELECT peal.allow(role, tenant)';
    END IF;
    RETURN found;
END $$;

-- inbox_check refuses what could not become an event: the limits are domain/event.h's and
-- base/json.h's.
CREATE FUNCTION inbox_check(event_type TEXT, payload JSONB, body TEXT, entity TEXT, topic TEXT,
                            correlation_id TEXT, payload_max BIGINT)
RETURNS VOID LANGUAGE plpgsql STABLE AS $$
DECLARE
    length BIGINT := octet_length(body);
    -- As it will be stored: PostgreSQL writes a space behind each colon and comma, Peal does not.
    -- (E'' means the same whatever the caller's standard_conforming_strings is.)
    spaces CONSTANT TEXT := E'"([^"\\\\]|\\\\.)*"|[^ ]';
    strings CONSTANT TEXT := E'"([^"\\\\]|\\\\.)*"';
BEGIN
    IF event_type IS NULL OR event_type = '' OR octet_length(event_type) > 200 THEN
        RAISE EXCEPTION 'event_type must have 1 to 200 bytes' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF octet_length(entity) > 200 OR octet_length(topic) > 200 OR octet_length(correlation_id) > 200 THEN
        RAISE EXCEPTION 'entity, topic and correlation_id may have 200 bytes' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF concat(event_type, entity, topic, correlation_id) ~ E'[\\x01-\\x1f\\x7f]' THEN
        RAISE EXCEPTION 'event_type, entity, topic and correlation_id may hold no control characters'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF payload IS NULL OR jsonb_typeof(payload) <> 'object' THEN
        RAISE EXCEPTION 'payload must be a JSON object' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF length > payload_max AND (length > 2 * payload_max
       OR length - octet_length(regexp_replace(body, spaces, '', 'g')) > payload_max) THEN
        RAISE EXCEPTION 'payload may have % bytes', payload_max USING ERRCODE = 'program_limit_exceeded';
    END IF;
    IF length > 64 AND payload @? 'strict $.**{32 to last} ? (@.type() == "object" || @.type() == "array")' THEN
        RAISE EXCEPTION 'payload may be nested 32 deep' USING ERRCODE = 'program_limit_exceeded';
    END IF;
    IF body ~ '[0-9]{32}' AND regexp_replace(body, strings, '', 'g') ~ '[-.0-9]{65}' THEN
        RAISE EXCEPTION 'a number in payload may have 64 characters' USING ERRCODE = 'program_limit_exceeded';
    END IF;
END $$;

-- These are one expression each, which PostgreSQL puts in the place of their call; their names
-- were looked up when they were made. inbox_is_usual: inbox_check has nothing to say, at a glance.
-- As PostgreSQL writes them, a number in an object follows a space or a bracket.
CREATE FUNCTION inbox_is_usual(event_type TEXT, payload JSONB, body TEXT, entity TEXT, topic TEXT,
                               correlation_id TEXT)
RETURNS BOOLEAN LANGUAGE sql STABLE BEGIN ATOMIC
    SELECT event_type <> '' AND jsonb_typeof(payload) = 'object'
       AND octet_length(concat(event_type, entity, topic, correlation_id)) <= 200
       AND octet_length(body) <= CAST(peal.emit_known() ->> 'max' AS BIGINT)
       AND concat(event_type, entity, topic, correlation_id) COLLATE "C" !~ '[\x01-\x1f\x7f]'
       AND body COLLATE "C" !~ '[ \[][-.0-9]{32}' AND NOT payload @? 'strict $.**{32 to last}';
END;
-- inbox_known is the number of a tenant that the caller himself was allowed; NULL: look closer.
CREATE FUNCTION inbox_known(named TEXT) RETURNS BIGINT LANGUAGE sql STABLE BEGIN ATOMIC
    SELECT CAST(peal.emit_known() -> 'roles' -> CAST(session_user AS TEXT) ->> named AS BIGINT);
END;
-- inbox_ring is true: it rings, once for each transaction however often it is called, where no node
-- is awake. pg_notify is never NULL.
CREATE FUNCTION inbox_ring(now_us BIGINT) RETURNS BOOLEAN LANGUAGE sql VOLATILE BEGIN ATOMIC
    SELECT pg_sequence_last_value('peal.emit_awake') >= now_us OR pg_notify('peal', 'inbox') IS NOT NULL;
END;
-- A double holds the microseconds of the next 200 years.
CREATE FUNCTION inbox_now() RETURNS BIGINT LANGUAGE sql VOLATILE BEGIN ATOMIC
    SELECT CAST(date_part('epoch', clock_timestamp()) * 1000000 AS BIGINT);
END;
-- inbox_id is a UUID of version 7. Its stamp counts in 4096ths of a millisecond, so that the ids of
-- a transaction are in the order of its calls.
CREATE FUNCTION inbox_id(stamp BIGINT, tail TEXT) RETURNS UUID LANGUAGE sql IMMUTABLE BEGIN ATOMIC
    SELECT CAST(lpad(to_hex(((stamp >> 12) << 16) + 28672 + (stamp & 4095)), 16, '0') || tail AS UUID);
END;
CREATE FUNCTION inbox_stamp(now_us BIGINT) RETURNS BIGINT LANGUAGE sql IMMUTABLE BEGIN ATOMIC
    SELECT now_us / 1000 * 4096 + now_us % 1000 * 4096 / 1000;
END;
CREATE FUNCTION inbox_tail() RETURNS TEXT LANGUAGE sql VOLATILE BEGIN ATOMIC
    SELECT substr(CAST(gen_random_uuid() AS TEXT), 20);
END;
-- inbox_new_id is inbox_id of a moment, for a clock that is between the years 2004 and 2527.
CREATE FUNCTION inbox_new_id(now_us BIGINT) RETURNS UUID LANGUAGE sql VOLATILE BEGIN ATOMIC
    SELECT CAST('0' || to_hex((now_us / 1000 << 16) + 28672 + now_us % 1000 * 4096 / 1000)
                || peal.inbox_tail() AS UUID);
END;

-- inbox_put adds one row, the nth of a call that began at this real time. By these the rows of a call
-- are in order, and before those of the next call, for it takes longer than a step to add one.
CREATE FUNCTION inbox_put(to_tenant BIGINT, put_kind SMALLINT, event_type TEXT, payload JSONB,
                          entity TEXT, topic TEXT, correlation_id TEXT, schema_version INTEGER,
                          began BIGINT, nth INTEGER)
RETURNS UUID LANGUAGE plpgsql AS $$
DECLARE
    body TEXT := CAST(payload AS TEXT);
    now_us BIGINT;
    tail TEXT := peal.inbox_tail();
    made UUID;
    state peal.emit_state;
BEGIN
    SELECT * INTO state FROM peal.emit_state s WHERE s.one = 1;
    PERFORM peal.inbox_check(event_type, payload, body, entity, topic, correlation_id, state.payload_max);
    now_us := COALESCE(state.manual_now, began);
    IF state.manual_now IS NOT NULL THEN -- it stands still, so real time keeps the order
        tail := '8' || lpad(to_hex((began + nth) % 17592186044416), 11, '0') || right(tail, 4);
        made := peal.inbox_id(peal.inbox_stamp(now_us), tail);
    ELSE
        made := peal.inbox_id(peal.inbox_stamp(now_us) + nth, tail);
    END IF;
    INSERT INTO peal.inbox (tenant, id, source, kind, event_kind, entity, topic, correlation_id,
                            schema_version, body, status, reason, attempts, received_at)
    VALUES (to_tenant, made, 'sql', put_kind, event_type, entity, topic, correlation_id,
            schema_version, convert_to(body, 'UTF8'), 0, 0, 0, now_us);
    PERFORM peal.inbox_ring(began);
    RETURN made;
END $$;

CREATE FUNCTION inbox_emit(event_type TEXT, payload JSONB, entity TEXT, topic TEXT,
                           correlation_id TEXT, schema_version INTEGER, tenant TEXT)
RETURNS UUID LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN peal.inbox_put(peal.inbox_tenant(tenant), CAST(0 AS SMALLINT), event_type, payload, entity,
                          topic, correlation_id, schema_version, peal.inbox_now(), 0);
END $$;

-- emit does what is usual in one statement, and leaves all else to inbox_emit. It is called so often
-- that to fix its search_path would cost a fifth of it: instead every name here says its schema, for
-- the caller chooses the path that others would be found by. So would operators be: there are none.
CREATE FUNCTION emit(event_type TEXT, payload JSONB, entity TEXT DEFAULT NULL,
                     topic TEXT DEFAULT NULL, correlation_id TEXT DEFAULT NULL,
                     schema_version INTEGER DEFAULT NULL, tenant TEXT DEFAULT NULL)
RETURNS UUID LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    to_tenant pg_catalog.int8 := peal.inbox_known(tenant);
    now_us pg_catalog.int8 := peal.inbox_now();
    body pg_catalog.text := CAST(payload AS pg_catalog.text);
    made pg_catalog.uuid := peal.inbox_new_id(now_us);
BEGIN
    IF to_tenant IS NOT NULL
       AND peal.inbox_is_usual(event_type, payload, body, entity, topic, correlation_id)
       AND peal.inbox_ring(now_us) THEN
        INSERT INTO peal.inbox (tenant, id, source, kind, event_kind, entity, topic, correlation_id,
                                schema_version, body, status, reason, attempts, received_at)
        VALUES (to_tenant, made, 'sql', 0, event_type, emit.entity, emit.topic, emit.correlation_id,
                emit.schema_version, pg_catalog.convert_to(body, 'UTF8'), 0, 0, 0, now_us);
        RETURN made;
    END IF;
    RETURN peal.inbox_emit(event_type, payload, entity, topic, correlation_id, schema_version, tenant);
END $$;

-- emit_many takes an array of {eventType, payload, entity, topic, correlationId, schemaVersion} and
-- returns the ids in its order.
CREATE FUNCTION emit_many(rows JSONB, tenant TEXT DEFAULT NULL)
RETURNS UUID[] LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    to_tenant BIGINT := peal.inbox_tenant(tenant);
    began BIGINT := peal.inbox_now();
    ids UUID[] := '{}';
    one JSONB;
    unknown TEXT;
BEGIN
    IF rows IS NULL OR jsonb_typeof(rows) <> 'array' OR jsonb_array_length(rows) > 10000 THEN
        RAISE EXCEPTION 'rows must be a JSON array of at most 10000 objects' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    FOR one IN SELECT e FROM jsonb_array_elements(rows) e LOOP
        SELECT k INTO unknown FROM jsonb_object_keys(one) k
         WHERE k NOT IN ('eventType', 'payload', 'entity', 'topic', 'correlationId', 'schemaVersion') LIMIT 1;
        IF unknown IS NOT NULL THEN
            RAISE EXCEPTION 'rows may not have the member "%"', unknown USING ERRCODE = 'invalid_parameter_value';
        END IF;
        ids := ids || peal.inbox_put(to_tenant, CAST(0 AS SMALLINT), one ->> 'eventType',
                                     COALESCE(one -> 'payload', '{}'), one ->> 'entity', one ->> 'topic',
                                     one ->> 'correlationId', CAST(one ->> 'schemaVersion' AS INTEGER),
                                     began, cardinality(ids));
    END LOOP;
    RETURN ids;
END $$;

-- cancel calls off what is still unsent of an entity, in the order of the transaction's other calls.
CREATE FUNCTION cancel(entity TEXT, tenant TEXT DEFAULT NULL)
RETURNS UUID LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF entity IS NULL OR entity = '' THEN
        RAISE EXCEPTION 'entity must be given' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RETURN peal.inbox_put(peal.inbox_tenant(tenant), CAST(1 AS SMALLINT), 'cancel', '{}', entity, NULL,
                          NULL, NULL, peal.inbox_now(), 0);
END $$;

-- notify asks for a notification to a list, by the rules of domain/notification.c, and returns its
-- id: the same id twice is one. Whether there is such a list is found out later, for it may be made
-- in the meantime.
CREATE FUNCTION notify(list TEXT, subject TEXT, body TEXT, type TEXT DEFAULT NULL,
                       type_data JSONB DEFAULT NULL, id UUID DEFAULT NULL, tenant TEXT DEFAULT NULL)
RETURNS UUID LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    named UUID := NULLIF(id, '00000000-0000-0000-0000-000000000000');
    asked JSONB;
    made UUID;
BEGIN
    IF list IS NULL OR list !~ '^[a-zA-Z0-9._:-]{1,100}$' OR type !~ '^[a-zA-Z0-9._:-]{1,50}$' THEN
        RAISE EXCEPTION 'list and type may have letters, digits and . _ : - only, at most 100 and 50'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF body IS NULL OR body = '' OR octet_length(subject) > 2000 THEN
        RAISE EXCEPTION 'body must be given, and subject may have 2000 bytes' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF jsonb_typeof(type_data) <> 'object' THEN
        RAISE EXCEPTION 'type_data must be a JSON object' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    SELECT jsonb_object_agg(m.name, m.value) INTO asked
      FROM (VALUES ('id', to_jsonb(named)), ('list', to_jsonb(list)), ('subject', to_jsonb(subject)),
                   ('body', to_jsonb(body)), ('type', to_jsonb(type)), ('typeData', type_data)) m (name, value)
     WHERE m.value IS NOT NULL;
    made := peal.inbox_put(peal.inbox_tenant(tenant), CAST(2 AS SMALLINT), 'notification', asked, NULL, NULL,
                           NULL, NULL, peal.inbox_now(), 0);
    RETURN COALESCE(named, made);
END $$;

-- inbox_check_job refuses a name that no job can have. Of the entity, inbox_check sees the rest.
CREATE FUNCTION inbox_check_job(job TEXT, entity TEXT) RETURNS VOID LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF job IS NULL OR job !~ '^[a-zA-Z0-9._:-]{1,100}$' OR entity IS NULL OR entity = '' THEN
        RAISE EXCEPTION 'job may have letters, digits and . _ : - only, at most 100, and entity must be given'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
END $$;

-- inbox_defer puts a run of a job off, by the rules of domain/defer.c, and returns the run's id:
-- that of the row's first delivery. A moment before 1970 is one that is past.
CREATE FUNCTION inbox_defer(job TEXT, entity TEXT, run_at TIMESTAMPTZ, payload JSONB, replaces BOOLEAN,
                            tenant TEXT)
RETURNS UUID LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    asked JSONB;
    made UUID;
BEGIN
    PERFORM peal.inbox_check_job(job, entity);
    IF run_at IS NULL OR run_at > peal.inbox_moment() + INTERVAL '3660 days' THEN
        RAISE EXCEPTION 'run_at or delay must be given, at most 3660 days ahead' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF jsonb_typeof(payload) <> 'object' THEN
        RAISE EXCEPTION 'payload must be a JSON object' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    SELECT jsonb_object_agg(m.name, m.value) INTO asked
      FROM (VALUES ('job', to_jsonb(job)), ('entity', to_jsonb(entity)), ('payload', payload),
                   ('replace', to_jsonb(replaces)),
                   ('runAt', to_jsonb(to_char(GREATEST(run_at, to_timestamp(0)) AT TIME ZONE 'UTC',
                                              'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')))) m (name, value)
     WHERE m.value IS NOT NULL;
    made := peal.inbox_put(peal.inbox_tenant(tenant), CAST(3 AS SMALLINT), 'job', asked, entity, NULL,
                           NULL, NULL, peal.inbox_now(), 0);
    RETURN CAST(left(CAST(made AS TEXT), 32) || '0001' AS UUID);
END $$;

-- inbox_moment is now, as Peal's clock has it.
CREATE FUNCTION inbox_moment() RETURNS TIMESTAMPTZ LANGUAGE sql VOLATILE BEGIN ATOMIC
    SELECT to_timestamp(0) + COALESCE(s.manual_now, peal.inbox_now()) * INTERVAL '1 microsecond'
      FROM peal.emit_state s WHERE s.one = 1;
END;

-- defer is by a moment or by a delay, which counts from now.
CREATE FUNCTION defer(job TEXT, entity TEXT, run_at TIMESTAMPTZ, payload JSONB DEFAULT NULL,
                      replace BOOLEAN DEFAULT FALSE, tenant TEXT DEFAULT NULL)
RETURNS UUID LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN peal.inbox_defer(job, entity, run_at, payload, replace, tenant);
END $$;
CREATE FUNCTION defer(job TEXT, entity TEXT, delay INTERVAL, payload JSONB DEFAULT NULL,
                      replace BOOLEAN DEFAULT FALSE, tenant TEXT DEFAULT NULL)
RETURNS UUID LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN peal.inbox_defer(job, entity, peal.inbox_moment() + delay, payload, replace, tenant);
END $$;

-- cancel_deferred calls off what has not begun of a job's runs of an entity, in the order of the
-- transaction's other calls.
CREATE FUNCTION cancel_deferred(job TEXT, entity TEXT, tenant TEXT DEFAULT NULL)
RETURNS UUID LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM peal.inbox_check_job(job, entity);
    RETURN peal.inbox_put(peal.inbox_tenant(tenant), CAST(4 AS SMALLINT), 'job',
                          jsonb_build_object('job', job, 'entity', entity), entity, NULL, NULL, NULL,
                          peal.inbox_now(), 0);
END $$;

-- allow lets a role call the functions for a tenant; disallow takes that back. They are the owner's.
CREATE FUNCTION allow(role TEXT, tenant TEXT) RETURNS VOID LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    number BIGINT;
    called REGPROCEDURE;
BEGIN
    SELECT t.tenant INTO number FROM peal.tenant t WHERE t.id = allow.tenant AND t.is_hidden = 0;
    IF number IS NULL THEN
        RAISE EXCEPTION 'there is no tenant "%"', tenant USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF NOT EXISTS (SELECT 1 FROM pg_roles r WHERE r.rolname = allow.role) THEN
        RAISE EXCEPTION 'there is no role "%"', role USING ERRCODE = 'undefined_object';
    END IF;
    INSERT INTO peal.emitter (role, id, tenant) VALUES (allow.role, allow.tenant, number)
        ON CONFLICT DO NOTHING;
    EXECUTE format('GRANT USAGE ON SCHEMA peal TO %I', role);
    FOR called IN SELECT p.oid FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
                   WHERE n.nspname = 'peal' AND p.prosecdef LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %I', called, role);
    END LOOP;
END $$;

CREATE FUNCTION disallow(role TEXT, tenant TEXT) RETURNS VOID LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    DELETE FROM peal.emitter e USING peal.tenant t
     WHERE e.role = disallow.role AND e.tenant = t.tenant AND t.id = disallow.tenant;
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA peal FROM PUBLIC;
