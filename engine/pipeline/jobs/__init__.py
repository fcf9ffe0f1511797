"""Jobs of the pipeline: what ``glassmq pipeline NAME`` and the page ``/pipeline`` start."""
