"""The operations of a Store, by what they are about; `draftfs.store` puts them together."""
