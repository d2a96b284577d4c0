/* SPDX-License-Identifier: MIT */
/*
 * Communicators. All of it is protected by nrn_comm_lock, which is let go of
 * where ranks in other processes are waited for.
 */
#ifndef NEURON_COMM_INTERNAL_H
#define NEURON_COMM_INTERNAL_H

#include "../internal.h"
#include "dtype.h"
#include "plan.h"

/*
 * Buffers of a rank. The first ones are the library's: semaphores and scratch of
 * half of the channels, scratch of the others, in another stack if there is one.
 */
#define NRN_MAX_WINDOWS 17u
#define NRN_OWN_WINDOWS 2u
/* Collectives whose lists are kept; and their lists in all, of 192 that a file may have */
#define NRN_MAX_PREPARED 16u
#define NRN_MAX_LISTS 160u

/* What a rank tells the others at first */
struct nrn_rank_info {
	uint32_t kind, caps, chip, server;
	uint8_t uuid[16];
	uint32_t flags, channels;
	uint64_t scratch;
	/* Of rank 0 */
	uint32_t group_id, has_group;
	uint64_t group_key;
};

/* What it has found of the ways to them */
struct nrn_reach {
	uint32_t joined, rate, latency_ns;
};

/* What a rank tells of a buffer; a descriptor comes with it */
struct nrn_window_info {
	uint64_t size;
	uint32_t bound;
	uint32_t failed;
};

/* A buffer of each rank, as all know it */
struct nrn_shared_window {
	uint32_t present;
	struct nrn_window_info *info;	/* by rank */
	int *fd;			/* by rank; -1 */
	uint64_t size;			/* least of all */
	bool bound;			/* by all */
};

/**
 * struct nrn_clique - a communicator: what its ranks in this process share
 */
struct nrn_clique {
	uint32_t refs;
	uint32_t num_ranks;
	/** @link: to ranks in other processes; NULL if there are none */
	struct nrn_link *link;
	struct nrn_rank_info *info;
	/** @server: ranks of a server, one server after the other; else 0 */
	uint32_t server;
	/** @order: ranks in a ring of neighbours; NULL: as they are numbered */
	uint16_t *order;
	/** @rate: MB/s, of the slowest way between two ranks; and the longest */
	uint32_t rate, latency_ns;
	struct neuron_comm_options options;
	struct nrn_shared_window window[NRN_MAX_WINDOWS];
	/** @failed: error, with its sentence */
	int failed;
	char sentence[256];
};

struct nrn_window {
	struct neuron_buffer *own;
	struct neuron_buffer **peer;	/* by rank; NULL: not imported yet */
	struct neuron_buffer *all;	/* through the group */
};

/* Lists of one collective */
struct nrn_prepared {
	struct nrn_prepared *next;
	unsigned char *key;
	uint64_t key_size;
	uint64_t used;			/* when */
	uint32_t running;		/* requests */
	uint32_t num_lists;
	/** @stamp: words of the times, if it is timed */
	uint32_t stamp[NRN_NUM_STAMPS];
	struct {
		uint32_t id;
		uint32_t word;
		uint64_t submitted;
	} list[];
};

/* A call, as its request keeps it */
struct nrn_call {
	struct nrn_collective c;
	uint64_t *sizes;
	struct neuron_comm_data data;
	uint32_t src_window, dst_window;
	uint32_t rank_op;		/* SEND_RECV: 0 sends, 1 receives */
	uint32_t flags;
};

struct neuron_request {
	struct neuron_comm *comm;	/* NULL when that is gone */
	struct neuron_request *next;	/* of the communicator */
	uint32_t refs;
	uint64_t batch;
	struct nrn_call call;
	struct nrn_prepared *prepared;
	uint64_t *target;		/* by list */
	bool started, ended, held;
	int64_t deadline;
	/** @begin, @end: modelled; 0: none */
	uint64_t begin, end;
	int error;
	char sentence[256];
};

struct neuron_comm {
	struct neuron_comm *next;	/* all of the process */
	struct nrn_clique *clique;
	uint32_t rank;
	struct neuron_device *device;
	struct neuron_group *group;
	uint32_t num_windows;
	struct nrn_window window[NRN_MAX_WINDOWS];
	/** @scratch_at: where scratch begins in the first window; in others at 0 */
	uint64_t scratch_at;
	/** @words: what lists have completed; then NRN_NUM_STAMPS times for each list */
	struct neuron_buffer *word_buffer;
	atomic_uint_least64_t *words;
	uint8_t word_used[NRN_MAX_LISTS];
	int eventfd;
	struct nrn_prepared *prepared;
	uint32_t num_prepared, num_lists;
	uint64_t clock, doorbells;
	struct neuron_request *first, **last;
};

extern pthread_mutex_t nrn_comm_lock;
extern struct neuron_comm *nrn_comms;

/* init.c */
void nrn_clique_put(struct nrn_clique *clique);

/* window.c */
int nrn_window_add(struct neuron_comm *comm, struct neuron_buffer *buffer,
		   struct nrn_window_info *info, int *fd);
void nrn_window_shared(struct nrn_clique *clique, uint32_t window, uint32_t rank,
		       const struct nrn_window_info *info, int fd);
void nrn_windows_free(struct neuron_comm *comm);
/* Handle of what is on a rank, or NRN_ALL; imports it at first */
int nrn_window_handle(struct neuron_comm *comm, uint32_t window, uint32_t rank, uint32_t *handle);

/* prepare.c */
int nrn_prepare(struct neuron_comm *comm, const struct nrn_call *call,
		struct nrn_prepared **prepared);
void nrn_prepared_free(struct neuron_comm *comm);

/* request.c */
/* Everything that can go on does. */
void nrn_progress(void);
void nrn_clique_fail(struct nrn_clique *clique, int error, bool tell);
int nrn_request_add(struct neuron_comm *comm, const struct nrn_call *call,
		    struct neuron_request **request);
void nrn_requests_end(struct neuron_comm *comm);

/* cost.c */
int nrn_choose(struct neuron_comm *comm, struct nrn_call *call, uint32_t wanted,
	       uint32_t channels);

/* link.c: all times are deadlines */
struct nrn_link;
int nrn_link_open(const char *root, uint32_t count, uint32_t rank, int64_t deadline,
		  struct nrn_link **link);
void nrn_link_close(struct nrn_link *link);
/* All say the same number of bytes, and may hand over a descriptor (-1: none). */
int nrn_link_exchange(struct nrn_link *link, uint32_t what, const void *mine, uint32_t size,
		      int fd, void *all, int *fds, int64_t deadline);
/* Tells all that it is over. */
void nrn_link_abort(struct nrn_link *link, const char *sentence);
/* 0 all is well; else error and sentence of who is gone or has told so */
int nrn_link_check(struct nrn_link *link);
int nrn_link_fd(const struct nrn_link *link);
/* "unix:@NAME" where some of the ranks can meet */
void nrn_link_name(const struct nrn_link *link, uint64_t number, char *text, uint64_t room);

#endif
