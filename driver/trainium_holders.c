// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who holds the device: open files, by process. A process in a container sees
 * those of its own user and PID namespace, by the numbers they have there.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>

#include <drm/drm_file.h>

#include "trainium_queue.h"

/* What is told of a process */
struct trn_holder {
	pid_t pid;
	kuid_t uid;
	char comm[TASK_COMM_LEN];
};

/* The process that used the file last, as the reader sees it */
static void trn_holder_of(struct drm_file *file, struct trn_holder *h)
{
	struct task_struct *task;
	struct pid *pid;

	memset(h, 0, sizeof(*h));
	/* When the process has ended the file still has an opener. */
	h->uid = file->filp ? file->filp->f_cred->uid : GLOBAL_ROOT_UID;

	rcu_read_lock();
	pid = rcu_dereference(file->pid);
	task = pid_task(pid, PIDTYPE_TGID);
	if (task) {
		h->uid = task_uid(task);
		h->pid = pid_vnr(pid);
		if (h->pid)
			get_task_comm(h->comm, task);
	}
	rcu_read_unlock();
}

static bool trn_holder_visible(const struct trn_holder *h, bool admin)
{
	return admin || (h->pid && uid_eq(h->uid, current_uid()));
}

static void trn_holder_memory(struct drm_file *file, struct drm_trainium_query_holder *h)
{
	struct drm_gem_object *obj;
	int id;

	spin_lock(&file->table_lock);
	idr_for_each_entry(&file->object_idr, obj, id) {
		if (trn_bo_is_hbm(to_trn_bo(obj)))
			h->hbm_bytes += obj->size;
		else
			h->host_bytes += obj->size;
	}
	spin_unlock(&file->table_lock);
}

static void trn_holder_tell(struct drm_file *file, struct drm_file *reader,
			    const struct trn_holder *who, struct drm_trainium_query_holder *h)
{
	struct trn_file *tfile = file->driver_priv;

	h->id = file->client_id;
	h->flags = file == reader ? TRAINIUM_HOLDER_SELF : 0;
	h->pid = who->pid;
	h->uid = from_kuid_munged(current_user_ns(), who->uid);
	strscpy(h->comm, who->comm, sizeof(h->comm));
	h->since_ns = tfile->since_ns;
	trn_holder_memory(file, h);
	mutex_lock(&tfile->lock);
	h->num_queues = tfile->num_queues;
	h->num_rings = tfile->num_rings;
	mutex_unlock(&tfile->lock);
}

/**
 * trn_holder_query - the next open file that a reader may see
 * @reader: open file of the reader
 * @index: the lowest id that is wanted
 * @h: filled in; zeroed before
 *
 * Return: 0 or -ENOENT.
 */
int trn_holder_query(struct drm_file *reader, u32 index, struct drm_trainium_query_holder *h)
{
	struct drm_device *drm = reader->minor->dev;
	struct trn_holder who, found_who = { };
	bool admin = ns_capable_noaudit(&init_user_ns, CAP_SYS_ADMIN);
	struct drm_file *file, *found = NULL;
	u32 others = 0;

	mutex_lock(&drm->filelist_mutex);
	list_for_each_entry(file, &drm->filelist, lhead) {
		trn_holder_of(file, &who);
		if (file != reader && !trn_holder_visible(&who, admin)) {
			others++;
			continue;
		}
		if ((u32)file->client_id < index ||
		    (found && (u32)file->client_id > (u32)found->client_id))
			continue;
		found = file;
		found_who = who;
	}
	if (found) {
		trn_holder_tell(found, reader, &found_who, h);
		h->others = others;
	}
	mutex_unlock(&drm->filelist_mutex);
	return found ? 0 : -ENOENT;
}
