// SPDX-License-Identifier: MIT
/*
 * Requests: a rank's collectives start one after the other, when the program
 * looks. What runs is ended by the end of its command lists.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

/* Runs of the same lists that are started ahead */
#define AHEAD 8
/* How long a wait looks at memory before it sleeps, and how long it sleeps at most */
#define LOOKS 64
#define SLEEP_MS 5

static __thread uint32_t group_depth;
static __thread uint64_t group_batch;
static uint64_t last_batch;

static const char *op_name(uint32_t op)
{
	static const char *const names[] = { "all_reduce", "all_gather", "reduce_scatter",
					     "all_to_all", "broadcast", "reduce", "send_recv",
					     "barrier" };

	return names[op];
}

static void request_put(struct neuron_request *r)
{
	if (--r->refs)
		return;
	free(r->call.sizes);
	free(r->target);
	free(r);
}

static void end_request(struct neuron_request *r, int error)
{
	r->ended = true;
	r->error = error;
	if (error)
		snprintf(r->sentence, sizeof(r->sentence), "%s", neuron_last_error());
	if (r->prepared)
		r->prepared->running--;
	r->prepared = NULL;
}

/* First in the queue and ended: not of the communicator any more */
static void remove_ended(struct neuron_comm *comm)
{
	struct neuron_request *r;

	while ((r = comm->first) && r->ended) {
		comm->first = r->next;
		if (!comm->first)
			comm->last = &comm->first;
		r->comm = NULL;
		request_put(r);
	}
}

void nrn_requests_end(struct neuron_comm *comm)
{
	struct neuron_request *r;

	for (r = comm->first; r; r = r->next) {
		if (r->ended)
			continue;
		nrn_fail(comm->clique->failed ? comm->clique->failed : -ECANCELED, "%s",
			 comm->clique->failed ? comm->clique->sentence :
						"the communicator was destroyed");
		end_request(r, comm->clique->failed ? comm->clique->failed : -ECANCELED);
	}
	remove_ended(comm);
}

/* The sentence is that of nrn_fail(). Ranks in this process end at once, others are told. */
void nrn_clique_fail(struct nrn_clique *clique, int error, bool tell)
{
	struct neuron_comm *comm;

	if (clique->failed)
		return;
	clique->failed = error;
	snprintf(clique->sentence, sizeof(clique->sentence), "%s", neuron_last_error());
	if (tell && clique->link)
		nrn_link_abort(clique->link, clique->sentence);
	for (comm = nrn_comms; comm; comm = comm->next) {
		if (comm->clique != clique)
			continue;
		nrn_requests_end(comm);
		nrn_prepared_free(comm);
	}
}

/* Which way is broken? */
static void blame_links(struct neuron_comm *comm)
{
	const struct nrn_clique *clique = comm->clique;
	char sentence[256];
	uint32_t i;

	snprintf(sentence, sizeof(sentence), "%s", neuron_last_error());
	for (i = 0; i < clique->num_ranks; i++) {
		struct neuron_path_info path = { .size = sizeof(path) };

		if (i == comm->rank ||
		    neuron_fabric_get_path(comm->device, clique->info[i].chip, 0, &path) ||
		    path.status == NEURON_PATH_OK || path.status == NEURON_PATH_UNTESTED)
			continue;
		nrn_fail(-EIO, "%s; rank %u (chip %u) to rank %u (chip %u): %s", sentence,
			 comm->rank, clique->info[comm->rank].chip, i, clique->info[i].chip,
			 neuron_path_status_string(path.status));
		return;
	}
	nrn_fail(-EIO, "%s", sentence);
}

static int work_failed(struct neuron_comm *comm, const struct neuron_request *r, uint32_t list)
{
	struct drm_trainium_query_queue q = { 0 };
	int error = -EIO;

	if (!nrn_device_query(comm->device, TRAINIUM_QUERY_QUEUE, r->prepared->list[list].id, &q,
			      sizeof(q)) && q.error)
		error = -(int)q.error;
	nrn_fail(error, "%s: rank %u: %s failed: %s", comm->device->label, comm->rank,
		 op_name(r->call.c.op), neuron_reason_string(q.reason));
	blame_links(comm);
	return error;
}

/* 1 all lists have come to the end of this run, 0 not, or an error */
static int look(struct neuron_comm *comm, struct neuron_request *r)
{
	uint32_t i;
	int done = 1;

	for (i = 0; i < r->prepared->num_lists; i++) {
		uint64_t word = comm->words[r->prepared->list[i].word];

		if (word == TRAINIUM_COMPLETION_ENDED)
			return work_failed(comm, r, i);
		if (word < r->target[i])
			done = 0;
	}
	atomic_thread_fence(memory_order_acquire);
	if (done && r->call.c.timed) {
		r->begin = comm->words[r->prepared->stamp[NRN_STAMP_BEGIN]];
		r->end = comm->words[r->prepared->stamp[NRN_STAMP_END]];
	}
	return done;
}

/* What the DMA engines cannot do: the mean of what they have summed */
static int divide(struct neuron_comm *comm, const struct neuron_request *r)
{
	const struct nrn_collective *c = &r->call.c;
	uint64_t size = c->sizes[0], at, part;
	static char buffer[64 << 10];
	int ret = 0;

	if (r->call.data.reduction != NEURON_COMM_AVG ||
	    (c->op == NEURON_COMM_REDUCE && comm->rank != c->root))
		return 0;
	if (c->op == NEURON_COMM_REDUCE_SCATTER)
		size = c->sizes[comm->rank];
	for (at = 0; !ret && at < size; at += part) {
		part = size - at < sizeof(buffer) ? size - at : sizeof(buffer);
		ret = neuron_buffer_read(r->call.data.dst, r->call.data.dst_offset + at, buffer,
					 part);
		nrn_divide(r->call.data.dtype, buffer, part / c->esize, c->num_ranks);
		if (!ret)
			ret = neuron_buffer_write(r->call.data.dst,
						  r->call.data.dst_offset + at, buffer, part);
	}
	return ret;
}

static int start_lists(struct neuron_comm *comm, struct neuron_request *r)
{
	struct nrn_prepared *p;
	uint32_t i;
	int ret;

	ret = nrn_prepare(comm, &r->call, &p);
	if (ret)
		return ret;
	p->running++;
	r->prepared = p;
	r->target = calloc(p->num_lists + 1, sizeof(*r->target));
	if (!r->target)
		return nrn_fail(-ENOMEM, "%s: out of memory", comm->device->label);
	for (i = 0; i < p->num_lists; i++) {
		struct drm_trainium_submit submit = { .queue = p->list[i].id };

		ret = nrn_backend->ioctl(comm->device->fd, DRM_IOCTL_TRAINIUM_LIST_SUBMIT,
					 &submit);
		if (ret)
			return nrn_fail(ret, "%s: rank %u: %s is not started: %s",
					comm->device->label, comm->rank, op_name(r->call.c.op),
					ret == -ENOENT ? "a buffer is gone" : neuron_strerror(ret));
		r->target[i] = ++p->list[i].submitted;
		comm->doorbells++;
	}
	r->started = true;
	r->deadline = nrn_deadline_after(comm->clique->options.timeout_ns);
	return 0;
}

static bool same_lists(const struct nrn_call *a, const struct nrn_call *b)
{
	return a->c.op == b->c.op && a->c.op != NEURON_COMM_SEND_RECV &&
	       a->c.algorithm == b->c.algorithm && a->c.root == b->c.root &&
	       a->c.channels == b->c.channels && a->data.dtype == b->data.dtype &&
	       a->data.reduction == b->data.reduction && a->src_window == b->src_window &&
	       a->dst_window == b->dst_window && a->data.src_offset == b->data.src_offset &&
	       a->data.dst_offset == b->data.dst_offset && a->sizes[0] == b->sizes[0] &&
	       /* Others have more sizes; and the CPU has something to do in between. */
	       (a->c.op == NEURON_COMM_ALL_REDUCE || a->c.op == NEURON_COMM_BARRIER) &&
	       a->data.reduction != NEURON_COMM_AVG && !a->flags && !b->flags;
}

/* May it start while what is before it goes on? */
static bool may_start(const struct neuron_comm *comm, const struct neuron_request *r)
{
	const struct neuron_request *before;
	uint32_t ahead = 0;

	if (r->held)
		return false;
	for (before = comm->first; before != r; before = before->next) {
		const struct nrn_collective *a = &before->call.c, *b = &r->call.c;

		if (before->ended)
			continue;
		if (!before->started || ++ahead >= AHEAD)
			return false;
		/* Pieces of a list follow each other within a run only. */
		if (same_lists(&before->call, &r->call) &&
		    before->prepared->num_lists <= before->call.c.channels)
			continue;
		if (!r->batch || before->batch != r->batch || a->op != NEURON_COMM_SEND_RECV ||
		    b->op != NEURON_COMM_SEND_RECV ||
		    (a->root == b->root && a->peer == b->peer))
			return false;
	}
	return true;
}

static void progress_request(struct neuron_comm *comm, struct neuron_request *r)
{
	struct nrn_clique *clique = comm->clique;
	int ret;

	if (!r->started) {
		if (!may_start(comm, r))
			return;
		ret = start_lists(comm, r);
		if (ret) {
			end_request(r, ret);
			nrn_clique_fail(clique, ret, true);
			return;
		}
	}
	ret = look(comm, r);
	if (ret > 0) {
		end_request(r, divide(comm, r));
	} else if (ret < 0) {
		end_request(r, ret);
		nrn_clique_fail(clique, ret, true);
	} else if (nrn_backend->now() >= r->deadline) {
		nrn_fail(-ETIME, "%s: rank %u: %s of %" PRIu64 " bytes by %s has not ended after %"
			 PRId64 " ms", comm->device->label, comm->rank, op_name(r->call.c.op),
			 r->call.c.sizes[0], neuron_comm_algorithm_name(r->call.c.algorithm),
			 clique->options.timeout_ns / 1000000);
		blame_links(comm);
		end_request(r, -ETIME);
		nrn_clique_fail(clique, -ETIME, true);
	}
}

static void progress(struct neuron_comm *comm)
{
	struct nrn_clique *clique = comm->clique;
	struct neuron_request *r, *next;
	int ret;

	if (!comm->first)
		return;
	for (r = comm->first; r && !clique->failed; r = next) {
		next = r->next;
		if (!r->ended)
			progress_request(comm, r);
	}
	remove_ended(comm);
	/* Who is gone is missed by what has not ended. */
	if (comm->first && !clique->failed && clique->link) {
		ret = nrn_link_check(clique->link);
		if (ret)
			nrn_clique_fail(clique, ret, true);
	}
	if (clique->failed)
		nrn_requests_end(comm);
}

void nrn_progress(void)
{
	struct neuron_comm *comm;

	for (comm = nrn_comms; comm; comm = comm->next)
		progress(comm);
}

int nrn_request_add(struct neuron_comm *comm, const struct nrn_call *call,
		    struct neuron_request **out)
{
	struct neuron_request *r = calloc(1, sizeof(*r));

	if (!r)
		return nrn_fail(-ENOMEM, "%s: out of memory", comm->device->label);
	r->call = *call;
	r->comm = comm;
	r->refs = 2;
	r->held = group_depth > 0;
	r->batch = group_depth ? group_batch : 0;
	*comm->last = r;
	comm->last = &r->next;
	*out = r;
	if (!r->held)
		progress(comm);
	return 0;
}

void neuron_comm_group_start(void)
{
	if (group_depth++)
		return;
	pthread_mutex_lock(&nrn_comm_lock);
	group_batch = ++last_batch;
	pthread_mutex_unlock(&nrn_comm_lock);
}

int neuron_comm_group_end(void)
{
	struct neuron_request *r;
	struct neuron_comm *comm;
	int ret = 0;

	if (!group_depth || --group_depth)
		return 0;
	pthread_mutex_lock(&nrn_comm_lock);
	for (comm = nrn_comms; comm; comm = comm->next)
		for (r = comm->first; r; r = r->next)
			if (r->batch == group_batch)
				r->held = false;
	nrn_progress();
	for (comm = nrn_comms; comm; comm = comm->next)
		for (r = comm->first; !ret && r; r = r->next)
			if (r->batch == group_batch && r->ended)
				ret = r->error;
	pthread_mutex_unlock(&nrn_comm_lock);
	return ret;
}

/* Until something ends, or it is time to look again. The lock is not held. */
static void sleep_on(int eventfd, int link_fd, int64_t left_ns)
{
	struct pollfd fds[2] = {
		{ .fd = eventfd, .events = POLLIN },
		{ .fd = link_fd, .events = POLLIN },
	};
	int64_t ms = left_ns / 1000000;
	uint64_t count;

	if (ms > SLEEP_MS)
		ms = SLEEP_MS;
	if (poll(fds, 2, (int)ms) > 0 && fds[0].revents & POLLIN) {
		/* Others who sleep look again soon. */
		if (read(eventfd, &count, sizeof(count)) < 0)
			return;
	}
}

static int result(const struct neuron_request *r)
{
	if (r->error)
		nrn_fail(r->error, "%s", r->sentence);
	return r->error;
}

int neuron_request_wait(struct neuron_request *r, int64_t timeout_ns)
{
	int64_t deadline = nrn_deadline_after(timeout_ns), left;
	uint32_t looks = 0;
	int ret = -ETIME, eventfd, link_fd;

	if (!r)
		return nrn_fail(-EINVAL, "%s: no request (NULL)", __func__);
	pthread_mutex_lock(&nrn_comm_lock);
	for (;;) {
		nrn_progress();
		if (r->ended) {
			ret = result(r);
			break;
		}
		left = deadline - nrn_backend->now();
		if (left <= 0) {
			nrn_fail(-ETIME, "rank %u: %s goes on after the time given",
				 r->comm->rank, op_name(r->call.c.op));
			break;
		}
		eventfd = r->comm->eventfd;
		link_fd = r->comm->clique->link ? nrn_link_fd(r->comm->clique->link) : -1;
		pthread_mutex_unlock(&nrn_comm_lock);
		if (++looks > LOOKS)
			sleep_on(eventfd, link_fd, left);
		pthread_mutex_lock(&nrn_comm_lock);
	}
	pthread_mutex_unlock(&nrn_comm_lock);
	return ret;
}

int neuron_request_test(struct neuron_request *r)
{
	int ret = 0;

	if (!r)
		return nrn_fail(-EINVAL, "%s: no request (NULL)", __func__);
	pthread_mutex_lock(&nrn_comm_lock);
	nrn_progress();
	if (r->ended)
		ret = r->error ? result(r) : 1;
	pthread_mutex_unlock(&nrn_comm_lock);
	return ret;
}

int neuron_request_get_time(struct neuron_request *r, uint64_t *time_ns)
{
	int ret = 0;

	if (!r || !time_ns)
		return nrn_fail(-EINVAL, "%s: no %s (NULL)", __func__,
				r ? "place for the time" : "request");
	pthread_mutex_lock(&nrn_comm_lock);
	if (!r->ended || r->error)
		ret = nrn_fail(-EINVAL, "%s has not ended well", op_name(r->call.c.op));
	else if (!r->end)
		ret = nrn_fail(-EOPNOTSUPP, "%s has no time", op_name(r->call.c.op));
	else
		*time_ns = r->end - r->begin;
	pthread_mutex_unlock(&nrn_comm_lock);
	return ret;
}

int neuron_request_get_algorithm(struct neuron_request *r)
{
	if (!r)
		return nrn_fail(-EINVAL, "%s: no request (NULL)", __func__);
	return (int)r->call.c.algorithm;
}

void neuron_request_destroy(struct neuron_request *r)
{
	if (!r)
		return;
	pthread_mutex_lock(&nrn_comm_lock);
	request_put(r);
	pthread_mutex_unlock(&nrn_comm_lock);
}
