/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * handle.c - handles of our performance variables. Sessions are the MPI's, and so are the handles of its
 * variables; ours are told from these by their addresses.
 */
#include "tool.h"

#include <stdlib.h>

/* Memory of handles is used again, and not given back: so one that was freed is known as such. */
struct handle {
	struct handle *next;
	MPI_T_pvar_session session; /* MPI_T_PVAR_SESSION_NULL: it was freed */
	int pvar;
	bool started;
	uint64_t sum;  /* until it was last stopped, or written */
	uint64_t base; /* the variable's value when it was started, or written */
};

struct session {
	struct session *next;
	MPI_T_pvar_session session;
};

static struct {
	pthread_mutex_t lock;
	struct handle *handles;
	struct session *sessions;
} tools = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct session **find_session(MPI_T_pvar_session session)
{
	struct session **at = &tools.sessions;

	while (*at && (*at)->session != session)
		at = &(*at)->next;
	return at;
}

static struct handle *find_handle(MPI_T_pvar_handle handle)
{
	struct handle *h = tools.handles;

	while (h && h != (struct handle *)handle)
		h = h->next;
	return h;
}

bool qv_tool_handle_is_ours(MPI_T_pvar_handle handle)
{
	bool found;

	pthread_mutex_lock(&tools.lock);
	found = find_handle(handle);
	pthread_mutex_unlock(&tools.lock);
	return found;
}

/* Handles of a session that is over are not valid any more. The lock is held. */
static void forget(MPI_T_pvar_session session)
{
	struct session **at = find_session(session), *s = *at;

	if (!s)
		return;
	*at = s->next;
	free(s);
	for (struct handle *h = tools.handles; h; h = h->next)
		if (h->session == session)
			h->session = MPI_T_PVAR_SESSION_NULL;
}

int qv_tool_session_add(MPI_T_pvar_session session)
{
	struct session *s = malloc(sizeof(*s));

	if (!s)
		return MPI_T_ERR_MEMORY;
	pthread_mutex_lock(&tools.lock);
	forget(session); /* MPI_T_finalize ends sessions without a word */
	*s = (struct session){tools.sessions, session};
	tools.sessions = s;
	pthread_mutex_unlock(&tools.lock);
	return MPI_SUCCESS;
}

bool qv_tool_session_remove(MPI_T_pvar_session session)
{
	bool known;

	pthread_mutex_lock(&tools.lock);
	known = *find_session(session);
	forget(session);
	pthread_mutex_unlock(&tools.lock);
	return known;
}

/* One of those that were freed, or a new one; NULL: no memory. The lock is held. */
static struct handle *take_handle(void)
{
	struct handle *h = tools.handles;

	while (h && h->session != MPI_T_PVAR_SESSION_NULL)
		h = h->next;
	if (h)
		return h;
	h = malloc(sizeof(*h));
	if (!h)
		return NULL;
	h->next = tools.handles;
	tools.handles = h;
	return h;
}

int qv_tool_handle_new(MPI_T_pvar_session session, int pvar, MPI_T_pvar_handle *handle)
{
	struct handle *h = NULL;
	int rc = MPI_SUCCESS;

	pthread_mutex_lock(&tools.lock);
	if (!*find_session(session))
		rc = MPI_T_ERR_INVALID_SESSION;
	else if (!(h = take_handle()))
		rc = MPI_T_ERR_MEMORY;
	else
		*h = (struct handle){.next = h->next, .session = session, .pvar = pvar};
	pthread_mutex_unlock(&tools.lock);
	if (!rc)
		*handle = (MPI_T_pvar_handle)h;
	return rc;
}

int qv_tool_handle_free(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
	struct handle *h;
	int rc = MPI_SUCCESS;

	pthread_mutex_lock(&tools.lock);
	h = find_handle(handle);
	if (!*find_session(session))
		rc = MPI_T_ERR_INVALID_SESSION;
	else if (h->session != session)
		rc = MPI_T_ERR_INVALID_HANDLE;
	else
		h->session = MPI_T_PVAR_SESSION_NULL;
	pthread_mutex_unlock(&tools.lock);
	return rc;
}

/* The lock, and all values under it. The dynamic linker is asked before, for it has locks of its own. */
static void begin(struct qv_tool_provider *provider, uint64_t *values)
{
	qv_tool_provider_hold(provider);
	pthread_mutex_lock(&tools.lock);
	qv_tool_values(provider, values);
}

static void end(struct qv_tool_provider *provider)
{
	pthread_mutex_unlock(&tools.lock);
	qv_tool_provider_let_go(provider);
}

void qv_mpi_tool_before_end(void)
{
	struct qv_tool_provider provider;
	uint64_t values[QV_TOOL_N_PVARS];
	bool any;

	pthread_mutex_lock(&tools.lock);
	any = tools.sessions;
	pthread_mutex_unlock(&tools.lock);
	if (!any)
		return;
	begin(&provider, values);
	end(&provider);
}

static uint64_t value_of(const struct handle *h, uint64_t now)
{
	if (!qv_tool_counts(h->pvar))
		return now;
	return h->sum + (h->started ? now - h->base : 0);
}

static void set(struct handle *h, uint64_t now, uint64_t value)
{
	h->sum = value;
	h->base = now;
}

static int act(struct handle *h, enum qv_tool_act what, uint64_t now, unsigned long long *out,
	       unsigned long long in)
{
	const bool counts = qv_tool_counts(h->pvar);

	switch (what) {
	case QV_TOOL_START:
		if (!counts)
			return MPI_T_ERR_PVAR_NO_STARTSTOP;
		if (!h->started)
			h->base = now;
		h->started = true;
		return MPI_SUCCESS;
	case QV_TOOL_STOP:
		if (!counts)
			return MPI_T_ERR_PVAR_NO_STARTSTOP;
		h->sum = value_of(h, now);
		h->started = false;
		return MPI_SUCCESS;
	case QV_TOOL_READ: *out = value_of(h, now); return MPI_SUCCESS;
	case QV_TOOL_READRESET:
		if (!counts)
			return MPI_T_ERR_PVAR_NO_ATOMIC;
		*out = value_of(h, now);
		set(h, now, 0);
		return MPI_SUCCESS;
	default:
		if (!counts)
			return MPI_T_ERR_PVAR_NO_WRITE;
		set(h, now, in);
		return MPI_SUCCESS;
	}
}

int qv_tool_act(MPI_T_pvar_session session, MPI_T_pvar_handle handle, enum qv_tool_act what,
		unsigned long long *out, unsigned long long in)
{
	struct qv_tool_provider provider;
	uint64_t values[QV_TOOL_N_PVARS];
	struct handle *h;
	int rc = qv_tool_ready();

	if (rc)
		return rc;
	begin(&provider, values);
	h = find_handle(handle);
	if (!*find_session(session))
		rc = MPI_T_ERR_INVALID_SESSION;
	else if (h->session != session)
		rc = MPI_T_ERR_INVALID_HANDLE;
	else
		rc = act(h, what, values[h->pvar], out, in);
	end(&provider);
	return rc;
}

/* Those that can; the others stay as they are. */
void qv_tool_act_on_all(MPI_T_pvar_session session, enum qv_tool_act what)
{
	struct qv_tool_provider provider;
	uint64_t values[QV_TOOL_N_PVARS];

	if (qv_tool_ready())
		return;
	begin(&provider, values);
	for (struct handle *h = tools.handles; h; h = h->next)
		if (h->session == session && session != MPI_T_PVAR_SESSION_NULL)
			(void)act(h, what, values[h->pvar], NULL, 0);
	end(&provider);
}
