"""OpenCV's cascade files, in and out: the format that most cascades of the world are in.

Read are the XML files of OpenCV's own training tools: Haar and LBP features, the format of
opencv_traincascade (`opencv_read`) and the older one of haartraining (`opencv_old`). Written is the newer
one (`opencv_write`). See `opencv_xml` for what is done against hostile files.
"""

from hedgerow.vision.model import CascadeModel
from hedgerow.vision.opencv_old import read_old
from hedgerow.vision.opencv_read import read_new
from hedgerow.vision.opencv_write import write_opencv
from hedgerow.vision.opencv_xml import parse_storage

__all__ = ["read_opencv", "write_opencv"]


def read_opencv(data: bytes) -> CascadeModel:
    """The cascade of an OpenCV XML file.

    Nothing in the file is executed or fetched, and every number is checked before it is used.

    Parameters
    ----------
    data : bytes
        The file, XML in UTF-8, new or old format; at most 16 MiB.

    Returns
    -------
    CascadeModel
        Haar or LBP. The stage trees of old files (`parent`, `next`) become a chain, as in OpenCV.

    Raises
    ------
    ModelFileError
        If the file is no such cascade, or is damaged. The message names the line and the element.

    Examples
    --------
    >>> data = b'''<?xml version="1.0"?>
    ... <opencv_storage><cascade>
    ...   <stageType>BOOST</stageType> <featureType>HAAR</featureType>
    ...   <height>20</height> <width>24</width>
    ...   <stages><_>
    ...     <stageThreshold>0.5</stageThreshold>
    ...     <weakClassifiers><_>
    ...       <internalNodes>0 -1 0 1.5e-02</internalNodes>
    ...       <leafValues>-1. 1.</leafValues></_></weakClassifiers></_></stages>
    ...   <features><_>
    ...     <rects><_>2 4 8 6 -1.</_> <_>2 7 8 3 2.</_></rects></_></features>
    ... </cascade></opencv_storage>'''
    >>> model = read_opencv(data)
    >>> model.kind, model.window, model.n_stages
    ('HAAR', (24, 20), 1)
    """
    root = parse_storage(data)
    if not root.children:
        raise root.error("a cascade is needed; the element is empty")
    cascade = root.children[0]  # as OpenCV takes it, whatever its name
    if cascade.find("stageType") is not None:
        return read_new(cascade)
    if cascade.find("size") is not None:
        return read_old(cascade)
    raise cascade.error("not a cascade: <stageType> (new format) or <size> (old format) is needed")
