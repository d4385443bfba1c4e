"""Pictures over HTTP: above the workflows, because a picture is drawn of everything that a run brought home."""
