"""Git as draftfs uses it: `command` runs it, `changes` reads what commits change, `gate` judges that, `hooks` has git ask."""
