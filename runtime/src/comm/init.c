// SPDX-License-Identifier: MIT
/*
 * Life of a communicator. All ranks say where they are, join a group if the
 * fabric has them, and share a buffer of semaphores and scratch; whether the
 * others are in this process or elsewhere makes a difference only for how these
 * three rounds are done.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "internal.h"

#define OPTIONS_MIN	NRN_SIZE_UPTO(struct neuron_comm_options, timeout_ns)
#define INFO_MIN	NRN_SIZE_UPTO(struct neuron_comm_info, doorbells)

#define DEFAULT_CHANNELS 32u
#define DEFAULT_SCRATCH (32ull << 20)
#define MAX_SCRATCH (1ull << 30)
#define DEFAULT_TIMEOUT 30000000000ll

pthread_mutex_t nrn_comm_lock = PTHREAD_MUTEX_INITIALIZER;
struct neuron_comm *nrn_comms;

static int take_options(struct neuron_comm_options *o, const struct neuron_comm_options *options)
{
	int ret;

	*o = (struct neuron_comm_options){ 0 };
	if (options) {
		ret = nrn_take_options(o, sizeof(*o), options, OPTIONS_MIN, "neuron_comm_options");
		if (ret)
			return ret;
	}
	if (o->flags & ~NEURON_COMM_ORDERED || o->reserved || o->channels > NRN_MAX_CHANNELS ||
	    o->scratch > MAX_SCRATCH || o->timeout_ns < 0)
		return nrn_fail(-EINVAL, "a communicator with flags 0x%x, %u channels, %" PRIu64
				" bytes of scratch: at most %u and %llu are possible", o->flags,
				o->channels, o->scratch, NRN_MAX_CHANNELS, MAX_SCRATCH);
	o->channels = o->channels ? o->channels : DEFAULT_CHANNELS;
	o->scratch = o->scratch ? o->scratch : DEFAULT_SCRATCH;
	o->timeout_ns = o->timeout_ns ? o->timeout_ns : DEFAULT_TIMEOUT;
	return 0;
}

static struct nrn_clique *new_clique(uint32_t num_ranks, const struct neuron_comm_options *options)
{
	struct nrn_clique *clique = calloc(1, sizeof(*clique));
	uint32_t i, r;
	bool ok;

	if (!clique)
		goto failed;
	clique->refs = 1;
	clique->num_ranks = num_ranks;
	clique->options = *options;
	clique->info = calloc(num_ranks, sizeof(*clique->info));
	ok = !!clique->info;
	for (i = 0; i < NRN_MAX_WINDOWS; i++) {
		struct nrn_shared_window *w = &clique->window[i];

		w->info = calloc(num_ranks, sizeof(*w->info));
		w->fd = malloc(num_ranks * sizeof(*w->fd));
		for (r = 0; w->fd && r < num_ranks; r++)
			w->fd[r] = -1;
		ok = ok && w->info && w->fd;
	}
	if (ok)
		return clique;
	nrn_clique_put(clique);
failed:
	nrn_fail(-ENOMEM, "out of memory for a communicator of %u ranks", num_ranks);
	return NULL;
}

void nrn_clique_put(struct nrn_clique *clique)
{
	uint32_t i, r;

	if (--clique->refs)
		return;
	for (i = 0; i < NRN_MAX_WINDOWS; i++) {
		struct nrn_shared_window *w = &clique->window[i];

		for (r = 0; w->fd && r < clique->num_ranks; r++)
			if (w->fd[r] >= 0)
				close(w->fd[r]);
		free(w->fd);
		free(w->info);
	}
	nrn_link_close(clique->link);
	free(clique->order);
	free(clique->info);
	free(clique);
}

/* Round 1: what this rank is */
static int describe(struct neuron_comm *comm, struct nrn_rank_info *info)
{
	struct neuron_fabric_info fabric = { .size = sizeof(fabric) };
	const struct neuron_comm_options *o = &comm->clique->options;
	struct neuron_group_id id;
	int ret;

	if (!(comm->device->features & TRAINIUM_FEATURE_SEMAPHORE) ||
	    !(comm->device->features & TRAINIUM_FEATURE_QUEUE_USER))
		return nrn_fail(-EOPNOTSUPP, "%s: the driver or the device has no semaphores",
				comm->device->label);
	ret = neuron_fabric_get_info(comm->device, &fabric);
	if (ret)
		return ret;
	memset(info, 0, sizeof(*info));
	info->kind = fabric.kind;
	info->caps = fabric.caps;
	info->chip = fabric.chip;
	info->server = fabric.server;
	memcpy(info->uuid, fabric.uuid, sizeof(info->uuid));
	info->flags = o->flags;
	info->channels = o->channels;
	info->scratch = o->scratch;
	/* Without a group other algorithms still work. */
	if (!comm->rank && comm->clique->num_ranks > 1 &&
	    fabric.caps & (NEURON_FABRIC_MULTICAST | NEURON_FABRIC_REDUCE) &&
	    !neuron_group_create(comm->device, comm->clique->num_ranks, &comm->group) &&
	    !neuron_group_get_id(comm->group, &id)) {
		info->has_group = 1;
		info->group_id = id.id;
		info->group_key = id.key;
	}
	return 0;
}

/* How many ranks a server has, when they come one server after the other; else 0 */
static uint32_t ranks_of_server(const struct nrn_clique *clique)
{
	uint32_t n = clique->num_ranks, size = 1, i;

	while (size < n && clique->info[size].server == clique->info[0].server)
		size++;
	for (i = size; i < n; i++) {
		/* Another server begins, and only there. */
		bool same = clique->info[i].server == clique->info[i - 1].server;

		if (same == !(i % size))
			return 0;
	}
	return n % size ? 0 : size;
}

/* Place of a number in the Gray code, where neighbours differ in one bit */
static uint32_t gray_place(uint32_t gray)
{
	uint32_t place = 0;

	for (; gray; gray >>= 1)
		place ^= gray;
	return place;
}

/* In a torus neighbours are those whose ids differ in one bit. */
static int order_ring(struct nrn_clique *clique)
{
	uint32_t n = clique->num_ranks, i, j;

	if (clique->info[0].kind != NEURON_FABRIC_NEURONLINK)
		return 0;
	clique->order = calloc(n, sizeof(*clique->order));
	if (!clique->order)
		return nrn_fail(-ENOMEM, "out of memory for a communicator of %u ranks", n);
	for (i = 0; i < n; i++) {
		uint32_t place = gray_place(clique->info[i].chip);

		for (j = i; j; j--) {
			if (gray_place(clique->info[clique->order[j - 1]].chip) <= place)
				break;
			clique->order[j] = clique->order[j - 1];
		}
		clique->order[j] = (uint16_t)i;
	}
	return 0;
}

static int check_ranks(struct nrn_clique *clique)
{
	const struct nrn_rank_info *first = &clique->info[0];
	uint32_t i, j;

	for (i = 0; i < clique->num_ranks; i++) {
		const struct nrn_rank_info *info = &clique->info[i];

		if (clique->num_ranks > 1 && (info->kind == NEURON_FABRIC_NONE ||
					      memcmp(info->uuid, first->uuid, sizeof(info->uuid))))
			return nrn_fail(-EXDEV, "rank %u is not in the fabric of rank 0", i);
		if (info->flags != first->flags || info->channels != first->channels ||
		    info->scratch != first->scratch)
			return nrn_fail(-EPROTO, "rank %u has other options than rank 0", i);
		for (j = 0; j < i; j++)
			if (clique->num_ranks > 1 && clique->info[j].chip == info->chip)
				return nrn_fail(-EINVAL, "ranks %u and %u are the same chip, %u",
						j, i, info->chip);
	}
	clique->server = ranks_of_server(clique);
	return order_ring(clique);
}

/* Round 2: in the group, and everybody can be reached */
static int join(struct neuron_comm *comm, struct nrn_reach *reach)
{
	const struct nrn_rank_info *info = comm->clique->info;
	struct neuron_group_id id = { .id = info[0].group_id, .key = info[0].group_key };
	uint32_t i;
	int ret;

	*reach = (struct nrn_reach){ .rate = UINT32_MAX };
	for (i = 0; i < comm->clique->num_ranks; i++) {
		struct neuron_path_info path = { .size = sizeof(path) };

		if (i == comm->rank)
			continue;
		ret = neuron_fabric_get_path(comm->device, info[i].chip, 0, &path);
		if (ret)
			return ret;
		if (path.status != NEURON_PATH_OK && path.status != NEURON_PATH_UNTESTED)
			return nrn_fail(-EXDEV, "rank %u (chip %u) to rank %u (chip %u): %s",
					comm->rank, info[comm->rank].chip, i, info[i].chip,
					neuron_path_status_string(path.status));
		if (path.rate < reach->rate)
			reach->rate = path.rate;
		if (path.latency_ns > reach->latency_ns)
			reach->latency_ns = path.latency_ns;
	}
	if (comm->rank && info[0].has_group)
		neuron_group_join(comm->device, &id, &comm->group);
	reach->joined = !!comm->group;
	return 0;
}

/* All choose by the same figures. */
static void take_reach(struct nrn_clique *clique, const struct nrn_reach *reach)
{
	if (!clique->rate || reach->rate < clique->rate)
		clique->rate = reach->rate;
	if (reach->latency_ns > clique->latency_ns)
		clique->latency_ns = reach->latency_ns;
}

/* Round 3: semaphores, then scratch; round 4: the other half of the scratch */
static int make_scratch(struct neuron_comm *comm, uint32_t number, struct nrn_window_info *info,
			int *fd)
{
	struct neuron_fabric_info fabric = { .size = sizeof(fabric) };
	const struct neuron_comm_options *o = &comm->clique->options;
	struct neuron_buffer_options options = {
		.size = sizeof(options),
		.flags = NEURON_BUFFER_PEER,
		.stack = NEURON_STACK_ANY,
	};
	struct neuron_buffer *buffer;
	uint64_t granule, size;
	int ret;

	ret = neuron_fabric_get_info(comm->device, &fabric);
	if (ret)
		return ret;
	granule = fabric.group_granule ? fabric.group_granule : 4096;
	options.alignment = granule;
	size = o->scratch / NRN_OWN_WINDOWS;
	if (!number) {
		comm->scratch_at = nrn_sem_index(comm->clique->num_ranks, o->channels, 0, 0) *
				   sizeof(int64_t);
		comm->scratch_at = (comm->scratch_at + 4095) & ~4095ull;
		size += comm->scratch_at;
	}
	size = (size + granule - 1) & ~(granule - 1);
	ret = neuron_buffer_create(comm->device, NEURON_HBM, size, &options, &buffer);
	if (ret)
		return ret;
	ret = nrn_window_add(comm, buffer, info, fd);
	if (ret)
		neuron_buffer_destroy(buffer);
	return ret;
}

static struct neuron_comm *new_comm(struct nrn_clique *clique, struct neuron_device *device,
				    uint32_t rank)
{
	struct neuron_comm *comm = calloc(1, sizeof(*comm));
	void *words;

	if (!comm) {
		nrn_fail(-ENOMEM, "%s: out of memory", device->label);
		return NULL;
	}
	comm->rank = rank;
	comm->last = &comm->first;
	comm->device = nrn_device_get(device);
	comm->clique = clique;
	clique->refs++;
	comm->eventfd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (comm->eventfd < 0) {
		nrn_fail(-EMFILE, "%s: no eventfd for rank %u", device->label, rank);
	} else if (!neuron_buffer_create(device, NEURON_HOST,
					 (1 + NRN_NUM_STAMPS) * NRN_MAX_LISTS *
					 sizeof(uint64_t), NULL, &comm->word_buffer) &&
		   !neuron_buffer_map(comm->word_buffer, &words)) {
		comm->words = words;
		comm->next = nrn_comms;
		nrn_comms = comm;
		return comm;
	}
	neuron_buffer_destroy(comm->word_buffer);
	if (comm->eventfd >= 0)
		close(comm->eventfd);
	nrn_device_put(comm->device);
	nrn_clique_put(clique);
	free(comm);
	return NULL;
}

static void free_comm(struct neuron_comm *comm)
{
	struct neuron_comm **at;

	if (!comm)
		return;
	for (at = &nrn_comms; *at != comm; at = &(*at)->next)
		;
	*at = comm->next;
	nrn_requests_end(comm);
	nrn_prepared_free(comm);
	nrn_windows_free(comm);
	neuron_group_destroy(comm->group);
	neuron_buffer_destroy(comm->word_buffer);
	close(comm->eventfd);
	nrn_device_put(comm->device);
	nrn_clique_put(comm->clique);
	free(comm);
}

void neuron_comm_destroy(struct neuron_comm *comm)
{
	bool busy;

	if (!comm)
		return;
	pthread_mutex_lock(&nrn_comm_lock);
	nrn_progress();
	busy = comm->first || comm->clique->refs > 1;
	if (busy && comm->first) {
		nrn_fail(-ENOTCONN, "rank %u was destroyed before all had ended", comm->rank);
		nrn_clique_fail(comm->clique, -ENOTCONN, true);
	}
	free_comm(comm);
	pthread_mutex_unlock(&nrn_comm_lock);
}

int neuron_comm_abort(struct neuron_comm *comm)
{
	if (!comm)
		return nrn_fail(-EINVAL, "%s: no communicator (NULL)", __func__);
	pthread_mutex_lock(&nrn_comm_lock);
	nrn_fail(-ECANCELED, "rank %u has aborted", comm->rank);
	nrn_clique_fail(comm->clique, -ECANCELED, true);
	pthread_mutex_unlock(&nrn_comm_lock);
	return 0;
}

static int check_count(uint32_t count, uint32_t rank)
{
	if (count && count <= NRN_MAX_RANKS && rank < count)
		return 0;
	return nrn_fail(-EINVAL, "rank %u of %u: 1 to %u are possible", rank, count,
			NRN_MAX_RANKS);
}

/* All ranks of @comms do each round before any does the next. */
static int meet_here(struct neuron_comm **comms, uint32_t count)
{
	struct nrn_clique *clique = comms[0]->clique;
	struct nrn_window_info info;
	struct nrn_reach reach;
	uint32_t i, w;
	int ret, fd;

	for (i = 0; i < count; i++) {
		ret = describe(comms[i], &clique->info[i]);
		if (ret)
			return ret;
	}
	ret = check_ranks(clique);
	for (i = 0; !ret && i < count; i++) {
		ret = join(comms[i], &reach);
		take_reach(clique, &reach);
	}
	for (w = 0; w < NRN_OWN_WINDOWS; w++) {
		for (i = 0; !ret && i < count; i++) {
			ret = make_scratch(comms[i], w, &info, &fd);
			if (!ret)
				nrn_window_shared(clique, w, i, &info, fd);
		}
	}
	return ret;
}

int neuron_comm_init_all(struct neuron_device *const *devices, uint32_t count,
			 const struct neuron_comm_options *options, struct neuron_comm **comms)
{
	struct neuron_comm_options o;
	struct nrn_clique *clique;
	uint32_t i, made = 0;
	int ret;

	if (!devices || !comms)
		return nrn_fail(-EINVAL, "%s: no %s (NULL)", __func__,
				devices ? "place for the handles" : "devices");
	ret = check_count(count, 0);
	for (i = 0; !ret && i < count; i++)
		if (!devices[i])
			ret = nrn_fail(-EINVAL, "%s: device %u is NULL", __func__, i);
	if (!ret)
		ret = take_options(&o, options);
	if (ret)
		return ret;
	pthread_mutex_lock(&nrn_comm_lock);
	clique = new_clique(count, &o);
	ret = clique ? 0 : -ENOMEM;
	for (; !ret && made < count; made++) {
		comms[made] = new_comm(clique, devices[made], made);
		if (!comms[made]) {
			ret = -ENOMEM;
			break;
		}
	}
	if (!ret)
		ret = meet_here(comms, count);
	for (i = 0; ret && i < made; i++) {
		free_comm(comms[i]);
		comms[i] = NULL;
	}
	if (clique)
		nrn_clique_put(clique);
	pthread_mutex_unlock(&nrn_comm_lock);
	return ret;
}

/* A buffer of this rank becomes known to all. The lock is not held. */
static int share_window(struct neuron_comm *comm, uint32_t number, struct nrn_window_info *info,
			int fd)
{
	struct nrn_clique *clique = comm->clique;
	uint32_t n = clique->num_ranks, i;
	struct nrn_window_info *all = calloc(n, sizeof(*all));
	int *fds = malloc(n * sizeof(*fds)), ret = -ENOMEM;

	if (all && fds)
		ret = nrn_link_exchange(clique->link, 0x100 + number, info, sizeof(*info), fd, all,
					fds, nrn_deadline_after(clique->options.timeout_ns));
	else
		nrn_fail(ret, "%s: out of memory", comm->device->label);
	close(fd);
	for (i = 0; !ret && i < n; i++)
		nrn_window_shared(clique, number, i, &all[i], fds[i]);
	for (i = 0; !ret && i < n; i++)
		if (all[i].failed || clique->window[number].fd[i] < 0)
			ret = nrn_fail(-EPROTO, "rank %u could not share its buffer", i);
	free(all);
	free(fds);
	return ret;
}

static int meet_others(struct neuron_comm *comm, const char *root)
{
	struct nrn_clique *clique = comm->clique;
	int64_t deadline = nrn_deadline_after(clique->options.timeout_ns);
	struct nrn_window_info window;
	struct nrn_reach reach, *all;
	struct nrn_rank_info info;
	bool joined = true;
	uint32_t i;
	int ret, fd = -1;

	all = calloc(clique->num_ranks, sizeof(*all));
	if (!all)
		return nrn_fail(-ENOMEM, "%s: out of memory", comm->device->label);
	ret = nrn_link_open(root, clique->num_ranks, comm->rank, deadline, &clique->link);
	if (!ret)
		ret = describe(comm, &info);
	if (!ret)
		ret = nrn_link_exchange(clique->link, 1, &info, sizeof(info), -1, clique->info,
					NULL, deadline);
	if (!ret)
		ret = check_ranks(clique);
	if (!ret)
		ret = join(comm, &reach);
	if (!ret)
		ret = nrn_link_exchange(clique->link, 2, &reach, sizeof(reach), -1, all, NULL,
					deadline);
	for (i = 0; !ret && i < clique->num_ranks; i++) {
		take_reach(clique, &all[i]);
		joined = joined && all[i].joined;
	}
	free(all);
	if (!ret && !joined) {
		neuron_group_destroy(comm->group);
		comm->group = NULL;
	}
	for (i = 0; !ret && i < NRN_OWN_WINDOWS; i++) {
		ret = make_scratch(comm, i, &window, &fd);
		if (!ret)
			ret = share_window(comm, i, &window, fd);
	}
	return ret;
}

int neuron_comm_init(struct neuron_device *device, const char *root, uint32_t count, uint32_t rank,
		     const struct neuron_comm_options *options, struct neuron_comm **out)
{
	struct neuron_comm_options o;
	struct neuron_comm *comm;
	struct nrn_clique *clique;
	char from_env[128];
	int ret;

	if (!device || !out)
		return nrn_fail(-EINVAL, "%s: no %s (NULL)", __func__,
				device ? "place for the handle" : "device");
	ret = check_count(count, rank);
	if (!ret)
		ret = take_options(&o, options);
	if (ret)
		return ret;
	if (!root) {
		root = secure_getenv("NEURON_RT_ROOT_COMM_ID");
		if (!root)
			return nrn_fail(-EINVAL, "%s: no root, and no NEURON_RT_ROOT_COMM_ID",
					__func__);
		snprintf(from_env, sizeof(from_env), "tcp:%s", root);
		root = from_env;
	}
	pthread_mutex_lock(&nrn_comm_lock);
	clique = new_clique(count, &o);
	comm = clique ? new_comm(clique, device, rank) : NULL;
	if (clique)
		nrn_clique_put(clique);
	pthread_mutex_unlock(&nrn_comm_lock);
	if (!comm)
		return -ENOMEM;
	ret = meet_others(comm, root);
	if (ret) {
		pthread_mutex_lock(&nrn_comm_lock);
		if (comm->clique->link)
			nrn_link_abort(comm->clique->link, neuron_last_error());
		free_comm(comm);
		pthread_mutex_unlock(&nrn_comm_lock);
		return ret;
	}
	*out = comm;
	return 0;
}

static int check_distributed(struct neuron_comm *comm, const void *out, const char *what)
{
	if (!comm || !out)
		return nrn_fail(-EINVAL, "%s: no %s (NULL)", what,
				comm ? "place for the handle" : "communicator");
	if (!comm->clique->link)
		return nrn_fail(-EOPNOTSUPP,
				"%s: all ranks are in this process: make another communicator of some of the chips",
				what);
	return 0;
}

struct split_key {
	uint32_t color, key;
};

int neuron_comm_split(struct neuron_comm *comm, uint32_t color, uint32_t key,
		      struct neuron_comm **out)
{
	struct split_key mine = { color, key }, *all;
	struct nrn_clique *clique;
	uint32_t rank = 0, count = 0, i;
	char root[64];
	int ret;

	ret = check_distributed(comm, out, __func__);
	if (ret)
		return ret;
	clique = comm->clique;
	if (clique->failed)
		return nrn_fail(-ENOTCONN, "%s", clique->sentence);
	all = calloc(clique->num_ranks, sizeof(*all));
	if (!all)
		return nrn_fail(-ENOMEM, "%s: out of memory", comm->device->label);
	ret = nrn_link_exchange(clique->link, 3, &mine, sizeof(mine), -1, all, NULL,
				nrn_deadline_after(clique->options.timeout_ns));
	for (i = 0; !ret && i < clique->num_ranks; i++) {
		if (all[i].color != color)
			continue;
		count++;
		rank += all[i].key < key || (all[i].key == key && i < comm->rank);
	}
	free(all);
	if (ret)
		return ret;
	nrn_link_name(clique->link, color, root, sizeof(root));
	return neuron_comm_init(comm->device, root, count, rank, &clique->options, out);
}

int neuron_comm_shrink(struct neuron_comm *comm, const uint64_t *lost, uint32_t words,
		       struct neuron_comm **out)
{
	uint32_t rank = 0, count = 0, i;
	uint64_t hash = 14695981039346656037ull;
	char root[64];
	int ret;

	ret = check_distributed(comm, out, __func__);
	if (ret)
		return ret;
	if (!lost || words < (comm->clique->num_ranks + 63) / 64)
		return nrn_fail(-EINVAL, "%s: %u words for %u ranks", __func__, lost ? words : 0,
				comm->clique->num_ranks);
	for (i = 0; i < comm->clique->num_ranks; i++) {
		bool gone = lost[i / 64] >> (i % 64) & 1;

		hash = (hash ^ gone) * 1099511628211ull;
		if (gone && i == comm->rank)
			return nrn_fail(-EINVAL, "%s: rank %u is not lost: it calls", __func__, i);
		count += !gone;
		rank += !gone && i < comm->rank;
	}
	nrn_link_name(comm->clique->link, hash | 1ull << 32, root, sizeof(root));
	return neuron_comm_init(comm->device, root, count, rank, &comm->clique->options, out);
}

int neuron_comm_register(struct neuron_comm *comm, struct neuron_buffer *buffer)
{
	struct nrn_window_info info;
	struct nrn_clique *clique;
	uint32_t number;
	int ret, fd;

	if (!comm || !buffer)
		return nrn_fail(-EINVAL, "%s: no %s (NULL)", __func__,
				comm ? "buffer" : "communicator");
	pthread_mutex_lock(&nrn_comm_lock);
	clique = comm->clique;
	number = comm->num_windows;
	if (clique->failed)
		ret = nrn_fail(-ENOTCONN, "%s", clique->sentence);
	else
		ret = nrn_window_add(comm, buffer, &info, &fd);
	if (!ret && !clique->link)
		nrn_window_shared(clique, number, comm->rank, &info, fd);
	pthread_mutex_unlock(&nrn_comm_lock);
	if (ret || !clique->link)
		return ret;
	ret = share_window(comm, number, &info, fd);
	if (ret) {
		pthread_mutex_lock(&nrn_comm_lock);
		nrn_clique_fail(clique, ret, true);
		pthread_mutex_unlock(&nrn_comm_lock);
	}
	return ret;
}

int neuron_comm_get_info(struct neuron_comm *comm, struct neuron_comm_info *info)
{
	struct neuron_comm_info full = { 0 };

	if (!comm)
		return nrn_fail(-EINVAL, "%s: no communicator (NULL)", __func__);
	pthread_mutex_lock(&nrn_comm_lock);
	full.count = comm->clique->num_ranks;
	full.rank = comm->rank;
	if (comm->group)
		full.caps = comm->clique->info[0].caps;
	full.rate = comm->clique->rate;
	full.latency_ns = comm->clique->latency_ns;
	full.failed = comm->clique->failed;
	full.prepared = comm->num_prepared;
	full.doorbells = comm->doorbells;
	pthread_mutex_unlock(&nrn_comm_lock);
	return nrn_copy_out(info, &full, sizeof(full), INFO_MIN, "neuron_comm_info");
}
